"""The two checks of a round trip, stage by stage: export (and run in onnxruntime), and import (and run there).

The truth table that is applied here (docs/architecture.md):

====================================  =====================  ==========================
event                                 export cell            import cell
====================================  =====================  ==========================
framework has no such converter       unsupported            unsupported
export failed                         ERROR                  unverified
checker objects, runtime agrees       supported, ``invalid`` attempted
onnxruntime cannot run it             evaluator decides      attempted
numbers wrong                         mismatch               attempted
====================================  =====================  ==========================
"""

from __future__ import annotations

from collections.abc import Mapping

from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.domain.outcome import Failure, Outcome, Stage, Status, Symptom
from bench_plugin.inventory.models import Model
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.pipeline.cell_log import Trail
from bench_plugin.pipeline.judge import Judge, Truth
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.steps import OnnxFile, Steps
from bench_plugin.pipeline.tasks import Drawn, Tasks

# onnxruntime refuses these without having computed anything wrong: another evaluator may decide.
REFUSALS = frozenset({Symptom.VERSION_SKEW, Symptom.UNSUPPORTED})


class RoundTrip:
    """Carries cells through their stages. ``run`` is safe to call from several threads."""

    checks = frozenset({Check.EXPORT, Check.IMPORT})

    def __init__(self, workspace: Workspace, steps: Steps, tasks: Tasks) -> None:
        self._workspace = workspace
        self._steps = steps
        self._tasks = tasks

    def run(self, cell: Cell, overrides: Mapping[str, float]) -> Outcome:
        """Compute the cell; a missing environment is an outcome too, everything unforeseen an exception."""
        trail = Trail(self._workspace.versions(cell))
        try:
            check = self._export if cell.check is Check.EXPORT else self._import
            return check(cell, self._workspace.models[cell.model], trail, Judge(overrides))
        except EnvironmentMissing as missing:
            return trail.outcome(Status.NOT_PROVIDED, str(missing))
        finally:
            self._steps.finished(cell)

    def _export(self, cell: Cell, model: Model, trail: Trail, judge: Judge) -> Outcome:
        file = self._steps.file(cell, model, trail)
        if isinstance(file, Failure):
            return trail.failed(file)
        reference = None
        if model.onnx is None:  # after the export: without a file there is nothing to compare
            reference = self._steps.take(
                cell, trail, "reference", self._tasks.reference(model, cell.framework, file.weights)
            )
            if reference.failure:
                return trail.failed(reference.failure)
        drawn = self._tasks.drawn(model, cell.framework, file.check)
        if drawn.complaint:
            return trail.outcome(Status.ERROR, drawn.complaint, stage=Stage.CHECK, symptom=Symptom.INVALID_MODEL)
        truth = self._export_truth(cell, model, trail, judge, reference, file, drawn)
        if isinstance(truth, Outcome):
            return truth
        ran = self._steps.take(cell, trail, "run", self._tasks.run(file.path, file.origin, model, drawn))
        if ran.failure and ran.failure.symptom not in REFUSALS:
            return trail.failed(ran.failure)
        if ran.failure:
            trail.flag(f"onnxruntime: {ran.failure.symptom}: {ran.failure.message}")
            ran = self._steps.take(cell, trail, "evaluate", self._tasks.evaluate(file.path, file.origin, model, drawn))
            if ran.failure:
                return trail.outcome(
                    Status.UNVERIFIED, f"neither onnxruntime nor the evaluator runs it: {ran.failure.message}"
                )
        trail.placement.update(ran.meta.get("run", {}).get("placement", {}))
        outcome = self._compared(model, trail, judge, truth, ran)
        if outcome.status is not Status.SUPPORTED:
            return outcome
        self._dynamic(trail, judge, truth, file, ran)
        return self._discriminates(cell, model, trail, judge, truth, file, drawn) or trail.outcome(Status.SUPPORTED)

    def _import(self, cell: Cell, model: Model, trail: Trail, judge: Judge) -> Outcome:
        file = self._steps.file(cell, model, trail)
        if isinstance(file, Failure):
            return trail.outcome(Status.UNVERIFIED, f"export failed: {file.symptom} at {file.stage}: {file.message}")
        drawn = self._tasks.drawn(model, cell.framework, file.check)
        task = self._tasks.import_run(file.path, file.origin, cell, model, drawn)
        imported = self._steps.take(cell, trail, "import", task)
        if imported.failure:
            trail.converted = imported.failure.stage is not Stage.IMPORT
            return trail.failed(imported.failure)
        trail.converted = True
        truth = self._file_truth(cell, model, trail, judge, file, drawn)
        if truth is None:
            return trail.outcome(
                Status.UNVERIFIED, "nothing to compare with: neither the evaluator nor onnxruntime runs the file"
            )
        outcome = self._compared(model, trail, judge, truth, imported)
        if outcome.status is not Status.SUPPORTED:
            return outcome
        self._dynamic(trail, judge, truth, file, imported)
        return trail.outcome(Status.SUPPORTED)

    def _export_truth(
        self, cell: Cell, model: Model, trail: Trail, judge: Judge, reference: Done | None, file: OnnxFile, drawn: Drawn
    ) -> Truth | Outcome:
        if reference is not None:
            truth = judge.framework_truth(model, reference)
            if truth is not None:
                return truth
        evaluated = self._steps.take(
            cell, trail, "evaluate", self._tasks.evaluate(file.path, file.origin, model, drawn, perturbed=1)
        )
        if evaluated.failure is None:
            return judge.file_truth(model, evaluated, reference)
        if reference is not None:
            return judge.single_precision_truth(model, reference)
        return trail.outcome(Status.UNVERIFIED, f"nothing to compare with: {evaluated.failure.message}")

    def _file_truth(
        self, cell: Cell, model: Model, trail: Trail, judge: Judge, file: OnnxFile, drawn: Drawn
    ) -> Truth | None:
        """The file's own function, so that an export fault is not counted twice; the framework's for a third number."""
        reference = None
        if model.onnx is None:
            done = self._steps.unnoted(self._tasks.reference(model, cell.framework, file.weights))
            reference = None if done.failure else done
        if not model.detections:  # the evaluator's suppression of boxes takes hours
            task = self._tasks.evaluate(file.path, file.origin, model, drawn, perturbed=int(reference is None))
            evaluated = self._steps.take(cell, trail, "evaluate", task)
            if evaluated.failure is None:
                return judge.file_truth(model, evaluated, reference)
            trail.flag(f"no float64 truth of the file: {evaluated.failure.message}")
        ran = self._steps.take(cell, trail, "run", self._tasks.run(file.path, file.origin, model, drawn))
        return None if ran.failure else judge.runtime_truth(model, ran, reference)

    def _compared(self, model: Model, trail: Trail, judge: Judge, truth: Truth, done: Done) -> Outcome:
        comparison = judge.compare(model, truth, done)
        trail.numbers.update(comparison.numbers)
        for note in comparison.notes:
            trail.flag(note)
        if comparison.status == "agree":
            return trail.outcome(Status.SUPPORTED)
        if comparison.status == "unverified":
            return trail.outcome(Status.UNVERIFIED, comparison.reason, stage=Stage.COMPARE)
        return trail.outcome(Status.MISMATCH, comparison.reason, stage=Stage.COMPARE, symptom=Symptom.MISMATCH)

    def _dynamic(self, trail: Trail, judge: Judge, truth: Truth, file: OnnxFile, done: Done) -> None:
        """Whether symbolic dimensions survived: judged at the second binding, shown beside the status."""
        text = judge.dynamic(truth, file.check.meta["check"], done)
        if text:
            trail.numbers["dynamic"] = text
            if not text.startswith("preserved"):
                trail.flag(f"dynamic: {text}")

    def _discriminates(
        self, cell: Cell, model: Model, trail: Trail, judge: Judge, truth: Truth, file: OnnxFile, drawn: Drawn
    ) -> Outcome | None:
        if model.detections:
            return None
        mutants = self._steps.take(cell, trail, "mutants", self._tasks.mutants(file.path, file.origin, model, drawn))
        if mutants.failure:
            return trail.outcome(
                Status.UNVERIFIED, f"mutants could not be run: {mutants.failure.message}", stage=Stage.BUILD
            )
        found = judge.discrimination(truth, mutants)
        trail.numbers["mutants"] = found.table
        if found.enough:
            return None
        return trail.outcome(Status.UNVERIFIED, f"not discriminating: {found.reason}", stage=Stage.BUILD)
