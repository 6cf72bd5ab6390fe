"""The checks of compiled models: does the artefact compute the same function, and does it still do its task.

What the numbers are compared with (docs/numbers.md):

=====================  =============================================  ====================================
what was compiled      conformance: the status                        approximation: shown beside it
=====================  =============================================  ====================================
fp32                   the file's own function in float64             –
fp16, bf16             the same, with the noise of that precision     E and SQNR against the framework
w16 (by us or by it)   the file with its weights rounded to float16   the same
a ready QDQ graph      that graph in float64, in steps of its scales  the same
a tool's own integers  nothing: unverified                            the same
=====================  =============================================  ====================================
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace

from bench_plugin.compare.quality import classification, paired_drop
from bench_plugin.compare.verdict import AGREE, UNVERIFIED, Comparison
from bench_plugin.core import artefacts
from bench_plugin.core.catalog import Adapter
from bench_plugin.core.cell import Cell, Check
from bench_plugin.core.compile_tasks import PERTURBED_RUNS, Arrays, CompileTasks, Given, Subject
from bench_plugin.core.errors import EnvironmentMissing
from bench_plugin.core.judging import Judge, Truth
from bench_plugin.core.models import Model
from bench_plugin.core.outcome import Failure, Outcome, Stage, Status, Symptom
from bench_plugin.core.plan_equivalence import quantiser
from bench_plugin.core.stages import Done
from bench_plugin.core.steps import OnnxFile, Steps
from bench_plugin.core.tasks import Drawn, Tasks
from bench_plugin.core.trail import Trail
from bench_plugin.core.workspace import Workspace

COMPUTED = ("fp32", "fp16", "bf16")  # precisions with a row in the table of tolerances
MOST_DROP = 0.02  # of top-1, at the lower bound of its paired interval


@dataclass(frozen=True)
class Compiled:
    """A cell on its way: what was compiled, the artefact, and the file that truths and emulations come from."""

    subject: Subject
    original: Subject
    file: OnnxFile
    drawn: Drawn
    compiled: Done
    ran: Done | None
    calibration: Given | None


class Equivalence:
    """Carries compiled cells through their stages. ``run`` is safe to call from several threads."""

    checks = frozenset({Check.EQUIVALENCE, Check.QUALITY})

    def __init__(self, workspace: Workspace, steps: Steps, tasks: Tasks, compiling: CompileTasks) -> None:
        self._workspace = workspace
        self._steps = steps
        self._tasks = tasks
        self._compiling = compiling

    def run(self, cell: Cell, overrides: Mapping[str, float]) -> Outcome:
        """Compute the cell; a missing environment or tool is an outcome too, everything unforeseen an exception."""
        trail = Trail(self._workspace.versions(cell))
        model = self._workspace.models[cell.model]
        try:
            if missing := self._missing_tool(cell):
                return trail.outcome(Status.NOT_PROVIDED, missing)
            found = self._compiled(cell, model, trail)
            if isinstance(found, Outcome):
                return found
            if cell.check is Check.QUALITY:
                return self._quality(cell, model, trail, found)
            return self._equivalence(cell, model, trail, Judge(overrides), found)
        except EnvironmentMissing as missing:
            return trail.outcome(Status.NOT_PROVIDED, str(missing))
        finally:
            self._steps.finished(cell)

    def _missing_tool(self, cell: Cell) -> str:
        """Executables of this machine that the compiler needs: what is not there, and the package that brings it."""
        target = self._compiling.target(cell)
        for name in self._adapter(cell).declaration.get("needs", ()):
            cross = name in ("gcc", "g++", "cc") and "gcc" in target
            wanted = str(target["gcc"]) if cross else str(name)
            if shutil.which(wanted) is None:
                return f"{wanted} not found; install {target.get('package', wanted) if cross else wanted}"
        return ""

    def _compiled(self, cell: Cell, model: Model, trail: Trail) -> Compiled | Outcome:
        """Export (or build), prepare the graph, compile; and run in the same process what leaves no artefact."""
        source = cell if cell.exporter or model.onnx else self._default_export(cell)
        file = self._steps.file(source, model, trail)
        if isinstance(file, Failure):
            return trail.outcome(Status.UNVERIFIED, f"export failed: {file.symptom} at {file.stage}: {file.message}")
        drawn = self._tasks.drawn(model, cell.framework, file.check)
        if drawn.complaint:
            return trail.outcome(Status.ERROR, drawn.complaint, stage=Stage.CHECK, symptom=Symptom.INVALID_MODEL)
        original = subject = self._compiling.of_file(cell, model, file, drawn)
        dataset = self._steps.unnoted(self._tasks.dataset(model)) if model.dataset else None
        calibration = self._compiling.calibration_given(model, original, dataset)
        if cell.graph:
            graph = self._graph(cell, model, trail, original, calibration, cell.graph)
            if isinstance(graph, Failure):
                return trail.outcome(Status.UNVERIFIED, f"no {cell.graph} graph: {graph.message}", stage=graph.stage)
            subject = graph
        elif not cell.exporter and not model.onnx:
            subject = self._compiling.of_framework(cell, model, file.weights)
            calibration = self._compiling.calibration_given(model, subject, dataset)
        own = calibration if quantiser(cell) == "own" and cell.precision.startswith("w8") else None
        ran = None
        if self._in_one_process(cell):
            task = self._compiling.compile_and_run(cell, model, subject, own, self._given(cell, model, subject))
            compiled = ran = self._steps.take(cell, trail, "compile", task)
        else:
            compiled = self._steps.take(cell, trail, "compile", self._compiling.compile(cell, model, subject, own))
        if compiled.failure:
            trail.converted = compiled.failure.stage is Stage.RUN
            if compiled.failure.types and compiled.failure.types[0].endswith(".NotProvided"):
                return trail.outcome(Status.NOT_PROVIDED, compiled.failure.message)
            return trail.failed(compiled.failure)
        trail.converted = True
        self._note_artefact(cell, trail, compiled, subject)
        if cell.target != "local":
            return self._for_target(cell, trail, compiled)
        return Compiled(subject, original, file, drawn, compiled, ran, own)

    def _default_export(self, cell: Cell) -> Cell:
        """The file that truths of a framework's own model come from: that of its first exporter."""
        adapter = self._workspace.catalog[cell.framework]
        exporter = adapter.default_pairs[0][0] if adapter.default_pairs else next(iter(adapter.exporters))
        return replace(cell, exporter=exporter, opset=adapter.exporters[exporter].opset)

    def _graph(
        self, cell: Cell, model: Model, trail: Trail, subject: Subject, calibration: Given, graph: str
    ) -> Subject | Failure:
        done = self._steps.take(cell, trail, "graph", self._compiling.graph(cell, model, subject, calibration, graph))
        if done.failure:
            return done.failure
        if cell.graph:
            described = {key: done.meta["prepare"].get(key) for key in ("operators", "calibration")}
            trail.artefacts["graph"] = {name: value for name, value in described.items() if value}
        return replace(
            subject, origin=done.key, files={"model.onnx": done.files["model.onnx"]},
            meta={"output_scales": done.meta["prepare"]["output_scales"]},
        )  # fmt: skip

    def _in_one_process(self, cell: Cell) -> bool:
        adapter, backend = self._workspace.catalog.compiler(cell.compiler)
        return not adapter.declaration.get("artefact", True) or backend in adapter.declaration.get("jit_backends", ())

    def _note_artefact(self, cell: Cell, trail: Trail, compiled: Done, subject: Subject) -> None:
        said = compiled.meta["compile"]
        trail.artefacts.update(artefacts.described(compiled.files))
        trail.artefacts["quantiser"] = quantiser(cell)
        keys = ("effective", "integer", "switches", "options", "notes")
        trail.placement.update({key: said[key] for key in keys if said.get(key)})
        trail.placement.update(said.get("placement", {}))
        trail.placement["threads"] = self._tasks.threads
        for text in said.get("shims", []):
            trail.flag(f"shim: {text}")
        if said.get("integer") == "simulated":
            trail.flag("simulated")
        fallback = said.get("placement", {}).get("requested")
        if isinstance(fallback, int | float) and fallback < 1:
            trail.flag(f"{fallback:.0%} of the nodes on the requested backend")
        if cell.precision in self._adapter(cell).declaration.get("loose", ()):
            trail.flag("loose")

    def _for_target(self, cell: Cell, trail: Trail, compiled: Done) -> Outcome:
        """What can be said of an artefact that nobody has run: that it is for the machine that it should be for."""
        adapter = self._adapter(cell)
        if adapter.declaration.get("portable") or compiled.meta["compile"].get("portable"):
            return trail.outcome(Status.UNVERIFIED, "not run: compiled, the artefact is the same for every target")
        wrong = artefacts.wrong_machine(compiled.files, self._compiling.target(cell))
        if wrong:
            return trail.outcome(Status.ERROR, wrong, stage=Stage.COMPILE, symptom=Symptom.INVALID_MODEL)
        return trail.outcome(Status.UNVERIFIED, f"not run: compiled, the artefact is for {cell.target}")

    def _given(self, cell: Cell, model: Model, subject: Subject) -> Given:
        if cell.check is Check.QUALITY:
            dataset = self._steps.unnoted(self._tasks.dataset(model))
            return self._compiling.dataset_given(model, subject, dataset)
        return subject.given

    def _ran(self, cell: Cell, model: Model, trail: Trail, found: Compiled) -> Done:
        if found.ran is not None:
            return found.ran
        given = self._given(cell, model, found.subject)
        whole = cell.check is Check.EQUIVALENCE and _keeps_symbols(found.compiled)
        task = self._compiling.run(cell, model, found.subject, found.compiled, given, whole=whole)
        ran = self._steps.take(cell, trail, "run", task)
        for key in ("effective", "placement"):
            if not ran.failure and ran.meta["run"].get(key):
                value = ran.meta["run"][key]
                trail.placement.update(value if isinstance(value, Mapping) else {key: value})
        return ran

    # -- numbers

    def _equivalence(self, cell: Cell, model: Model, trail: Trail, judge: Judge, found: Compiled) -> Outcome:
        ran = self._ran(cell, model, trail, found)
        if ran.failure:
            return trail.failed(ran.failure)
        reference = None
        if model.onnx is None:
            reference = self._steps.take(
                cell, trail, "reference", self._tasks.reference(model, cell.framework, found.file.weights)
            )
            if reference.failure:
                return trail.outcome(Status.UNVERIFIED, f"no reference: {reference.failure.message}")
        plain = self._file_truth(cell, model, trail, judge, found, reference)
        if plain is None:
            return trail.outcome(Status.UNVERIFIED, "nothing to compare with: the evaluator does not run the file")
        exact = (judge.framework_truth(model, reference) if reference else None) or plain
        if cell.precision != "fp32":
            trail.numbers["approximation"] = judge.approximation(exact, ran)
        comparison = self._conformance(cell, model, trail, judge, found, ran, plain, reference)
        trail.numbers.update(comparison.numbers)
        for note in comparison.notes:
            trail.flag(note)
        self._looks_like(cell, model, trail, judge, found, ran, exact)
        if comparison.status == UNVERIFIED:
            return trail.outcome(Status.UNVERIFIED, comparison.reason, stage=Stage.COMPARE)
        if comparison.status != AGREE:
            return self._mismatch(cell, trail, comparison)
        return self._proven(cell, model, trail, judge, found, plain)

    def _file_truth(
        self, cell: Cell, model: Model, trail: Trail, judge: Judge, found: Compiled, reference: Done | None
    ) -> Truth | None:
        """The file's own function in float64; of a framework's own model, the framework's."""
        if not cell.exporter and reference is not None:
            return judge.framework_truth(model, reference)
        task = self._tasks.evaluate(
            found.file.path, found.file.origin, model, found.drawn, perturbed=int(reference is None)
        )
        evaluated = self._steps.take(cell, trail, "evaluate", task)
        if evaluated.failure is None:
            return judge.file_truth(model, evaluated, reference)
        trail.flag(f"no float64 truth of the file: {evaluated.failure.message}")
        return judge.framework_truth(model, reference) if reference else None

    def _conformance(
        self, cell: Cell, model: Model, trail: Trail, judge: Judge, found: Compiled, ran: Done, plain: Truth,
        reference: Done | None,
    ) -> Comparison:  # fmt: skip
        """The run against what the tool was asked to compute: the status of the cell."""
        if cell.precision in COMPUTED:
            loose = cell.precision in self._adapter(cell).declaration.get("loose", ())
            truth = plain
            if cell.precision != "fp32":
                emulated = self._steps.take(cell, trail, "emulate", self._compiling.emulate(model, found.original))
                if emulated.failure:
                    return Comparison(UNVERIFIED, f"{cell.precision} could not be emulated: {emulated.failure.message}")
                truth = judge.at_precision(plain, emulated, cell.precision)
            return judge.compare(model, truth, ran, precision=cell.precision, loose=loose)
        if cell.precision == "w16":
            return self._rounded(cell, model, trail, judge, found, ran, reference)
        if not cell.graph:
            return Comparison(UNVERIFIED, "the tool quantises by itself: nothing says what it should have computed")
        return self._quantised(cell, model, trail, judge, found, ran)

    def _rounded(
        self, cell: Cell, model: Model, trail: Trail, judge: Judge, found: Compiled, ran: Done, reference: Done | None
    ) -> Comparison:
        """Weights rounded to float16, everything else in float32: the rule of fp32 against the rounded file."""
        graph: Subject | Failure = found.subject
        if not cell.graph:
            rounds = str(self._adapter(cell).declaration.get("rounds", "w16"))
            graph = self._graph(cell, model, trail, found.original, found.original.given, rounds)
        if isinstance(graph, Failure):
            return Comparison(UNVERIFIED, f"no file with rounded weights: {graph.message}")
        path = graph.files["model.onnx"]
        task = self._tasks.evaluate(path, graph.origin, model, found.drawn, perturbed=int(reference is None))
        evaluated = self._steps.take(cell, trail, "evaluate", task)
        if evaluated.failure:
            return Comparison(UNVERIFIED, f"the rounded file has no truth: {evaluated.failure.message}")
        truth = replace(judge.file_truth(model, evaluated, reference), origin="file with float16 weights in float64")
        loose = cell.precision in self._adapter(cell).declaration.get("loose", ())
        return judge.compare(model, truth, ran, loose=loose)

    def _quantised(
        self, cell: Cell, model: Model, trail: Trail, judge: Judge, found: Compiled, ran: Done
    ) -> Comparison:
        graph = found.subject
        task = self._tasks.evaluate(
            graph.files["model.onnx"], graph.origin, model, found.drawn, perturbed=PERTURBED_RUNS
        )
        truth = self._steps.take(cell, trail, "evaluate", task)
        if truth.failure:
            return Comparison(UNVERIFIED, f"the quantised graph has no truth: {truth.failure.message}")
        layers = self._layers(cell, model, trail, found) if cell.graph == "qdq" else None
        return judge.quantised(truth, ran, list(graph.meta["output_scales"]), layers)

    def _layers(self, cell: Cell, model: Model, trail: Trail, found: Compiled) -> tuple[Arrays, Done] | None:
        """Every quantised layer with the truth's integers as its inputs, compiled by the same tool in one graph."""
        apart = self._steps.take(cell, trail, "layers", self._compiling.layers(model, found.subject))
        if apart.failure or not apart.meta["layers"]["layers"]:
            return None
        names = list(apart.meta["layers"]["layers"])
        tapped = self._compiling.tapped(model, found.subject, apart)
        truth = self._steps.take(cell, trail, "evaluate", tapped)
        if truth.failure:
            trail.flag(f"layers have no truth: {truth.failure.message}")
            return None
        integers = {name: truth.arrays[f"out{index}"] for index, name in enumerate(names)}
        subject = self._compiling.cut(found.subject, apart, truth, integers)
        compiled = self._steps.take(cell, trail, "layers", self._compiling.compile(cell, model, subject, None))
        if not compiled.failure:
            task = self._compiling.run(cell, model, subject, compiled, subject.given, whole=False)
            compiled = self._steps.take(cell, trail, "layers", task)
        if compiled.failure:
            trail.flag(f"layers could not be run one by one: {compiled.failure.message}")
            return None
        return integers, compiled

    def _looks_like(
        self, cell: Cell, model: Model, trail: Trail, judge: Judge, found: Compiled, ran: Done, exact: Truth
    ) -> None:
        """The effective precision by error, wherever a precision could have been swapped for another."""
        suspicious = cell.precision == "fp32" and trail.numbers.get("needed", 0.0) <= 1.0
        if cell.precision not in (*COMPUTED, "w16") or suspicious:
            if cell.precision == "fp32":
                trail.placement["effective_by_error"] = "fp32"
            return
        emulated = self._steps.take(cell, trail, "emulate", self._compiling.emulate(model, found.original))
        if not emulated.failure:
            trail.placement["effective_by_error"] = judge.looks_like(exact, emulated, ran)

    def _mismatch(self, cell: Cell, trail: Trail, comparison: Comparison) -> Outcome:
        seems = trail.placement.get("effective_by_error", "")
        prefix = f"looks like {seems}: " if cell.precision == "fp32" and seems not in ("", "fp32") else ""
        reason = f"{prefix}{comparison.reason}"
        return trail.outcome(Status.MISMATCH, reason, stage=Stage.COMPARE, symptom=Symptom.MISMATCH)

    def _proven(self, cell: Cell, model: Model, trail: Trail, judge: Judge, found: Compiled, plain: Truth) -> Outcome:
        """A verdict is worth what it could have caught: the mutants at this precision, and fp32 behind bf16."""
        if cell.precision in COMPUTED:
            task = self._tasks.mutants(found.file.path, found.file.origin, model, found.drawn)
            mutants = self._steps.take(cell, trail, "mutants", task)
            if mutants.failure:
                reason = f"mutants could not be run: {mutants.failure.message}"
                return trail.outcome(Status.UNVERIFIED, reason, stage=Stage.BUILD)
            truth = plain
            if cell.precision != "fp32":
                truth = judge.at_precision(plain, self._steps.unnoted(self._compiling.emulate(model, found.original)),
                                           cell.precision)  # fmt: skip
            discrimination = judge.discrimination(truth, mutants, cell.precision)
            trail.numbers["mutants"] = discrimination.table
            if cell.precision == "fp32" and not discrimination.enough:
                reason = f"not discriminating: {discrimination.reason}"
                return trail.outcome(Status.UNVERIFIED, reason, stage=Stage.BUILD)
        if cell.precision == "bf16":
            whole = self.run(replace(cell, precision="fp32", graph=""), {})
            if whole.status is not Status.SUPPORTED:
                trail.flag(f"bf16 only: fp32 is {whole.status}")
        self._dynamic(trail, judge, plain, found)
        return trail.outcome(Status.SUPPORTED)

    def _dynamic(self, trail: Trail, judge: Judge, plain: Truth, found: Compiled) -> None:
        declared = found.file.check.meta["check"]
        symbolic = any(not isinstance(dim, int) for row in declared["inputs"] for dim in row["shape"])
        if symbolic:
            kept = _keeps_symbols(found.compiled)
            trail.numbers["dynamic"] = "preserved" if kept else "frozen"

    # -- the task

    def _quality(self, cell: Cell, model: Model, trail: Trail, found: Compiled) -> Outcome:
        """Accuracy on the test set; the status says whether it lost more than chance and two points explain."""
        if not model.training(cell.framework):
            return trail.outcome(Status.UNVERIFIED, f"{model.name} is not trained in {cell.framework}")
        ran = self._ran(cell, model, trail, found)
        if ran.failure:
            return trail.failed(ran.failure)
        dataset = self._steps.take(cell, trail, "dataset", self._tasks.dataset(model))
        reference = self._steps.take(
            cell, trail, "reference", self._compiling.predict(cell, model, found.file, found.drawn, dataset)
        )
        if reference.failure:
            return trail.outcome(Status.UNVERIFIED, f"no reference: {reference.failure.message}")
        labels = dataset.arrays["y_test"]
        scores, expected = (done.arrays["out0"] for done in (ran, reference))
        if scores.shape != expected.shape:
            reason = f"shape {list(scores.shape)}, expected {list(expected.shape)}"
            return trail.outcome(Status.MISMATCH, reason, stage=Stage.COMPARE, symptom=Symptom.MISMATCH)
        classes = int(self._workspace.catalog[model.dataset].declaration["classes"])
        drop = paired_drop(expected.argmax(axis=1), scores.argmax(axis=1), labels)
        trail.numbers.update(classification(scores, labels, classes))
        trail.numbers["reference_accuracy"] = float((expected.argmax(axis=1) == labels).mean())
        trail.numbers["drop"] = {
            "top1": drop.drop, "lower": drop.lower, "upper": drop.upper, "agreement": drop.agreement,
            "mcnemar_p": drop.mcnemar_p,
        }  # fmt: skip
        if drop.lower > MOST_DROP:
            reason = f"top-1 fell by {drop.drop:.1%} (at least {drop.lower:.1%}, McNemar p {drop.mcnemar_p:.1g})"
            return trail.outcome(Status.MISMATCH, reason, stage=Stage.COMPARE, symptom=Symptom.MISMATCH)
        return trail.outcome(Status.SUPPORTED)

    def _adapter(self, cell: Cell) -> Adapter:
        return self._workspace.catalog.compiler(cell.compiler)[0]


def _keeps_symbols(compiled: Done) -> bool:
    """Whether the artefact takes other sizes of the model's symbolic dimensions than it was compiled with."""
    return compiled.meta["compile"].get("dynamic") in (True, "preserved")
