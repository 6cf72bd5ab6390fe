"""The cell under computation: the cell with its model, its log and its judge, and how it obtains its stages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bench_plugin.agent.toolkit.samples import Ragged
from bench_plugin.domain.cell import WHOLE, Cell, Check
from bench_plugin.domain.outcome import Failure, Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.inventory.models import Model
from bench_plugin.pipeline.cell_log import CellLog
from bench_plugin.pipeline.judging.judge import Judge
from bench_plugin.pipeline.stage_recorder import StageRecorder
from bench_plugin.pipeline.stages import Done, Task
from bench_plugin.pipeline.tasks.generated_inputs import GeneratedInputs
from bench_plugin.pipeline.tasks.model_tasks import Tasks, Weights
from bench_plugin.reach.processes.given_files import GivenFile
from bench_plugin.reach.processes.leased_agent import NOT_AS_STATED

# Operator sets whose Quant nodes stand for any number of bits; no other tool here has them.
QONNX = frozenset({"qonnx.custom_op.general", "onnx.brevitas", "finn.custom_op.general"})
FROM_QONNX = "QONNX, in a carrier of 8 bits"


class InputChanged(Exception):
    """A file that is no longer the one that the run began with; ``failure`` names it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True)
class OnnxFile:
    """The ONNX file of a cell.

    ``origin`` is the recipe that made it, or its content hash; ``check`` is the finished stage of onnx's checker;
    ``weights`` are the trained weights that it was exported with, None for seeded ones.
    """

    given: GivenFile
    origin: str
    check: Done
    weights: Weights | None = None

    @property
    def computes(self) -> str:
        """The precision that the file's own types ask for: fp32, fp16 or bf16."""
        return str(self.check.meta["check"].get("computes", "fp32"))

    @property
    def path(self) -> Path:
        """Where the file is, which is not where an agent gets its copy of it."""
        return self.given.path


# The stages that run what a check tests and what it compares with. The others run the benchmark's own tools, which keep
# nothing between their calls; the file that an importer or a compiler is given is judged by the cell of its export.
COMPARED: Mapping[Check, frozenset[str]] = {
    Check.EXPORT: frozenset({"export", "reference", "run"}),
    Check.IMPORT: frozenset({"import", "run"}),
    Check.EQUIVALENCE: frozenset({"compile", "run", "reference"}),
    Check.QUALITY: frozenset({"compile", "run", "reference"}),
    Check.TIMING: frozenset({"compile", "time", "task", "reference"}),
    Check.LAYERS: frozenset({"compile", "run", "reference"}),
}


@dataclass(frozen=True)
class CellRun:
    """One computation of one cell. The stages that it obtains are credited to its log: time, memory, cache, retries.

    If it is ``fresh``, the stages that are compared are made by processes that had done nothing before.
    """

    cell: Cell
    model: Model
    log: CellLog
    judge: Judge
    tasks: Tasks
    recorder: StageRecorder
    fresh: bool = False

    def obtain(self, name: str, task: Task) -> Done:
        """Obtain a stage and credit it to the cell as ``name``.

        Raises EnvironmentMissing when its toolchain cannot be installed, InputChanged where a file is not the one that
        the run began with: no stage of the cell can be judged beside another one then.
        """
        fresh = self.fresh and name in COMPARED[self.cell.check]
        done = self.log.credit(name, self.recorder.obtain(self.cell, name, task, fresh=fresh))
        if done.failure is not None and done.failure.types == NOT_AS_STATED:
            raise InputChanged(done.failure)
        return done

    def again(self, task: Task) -> Done:
        """The same stage once more, by a process that had done nothing before, and stored beside the first.

        It is not credited: the row's seconds are those of the first.
        """
        second = replace(task, parts={**task.parts, "repetition": 2})
        done = self.recorder.obtain(self.cell, "again", second, fresh=True)
        self.log.depends_on(done.failure)
        return done

    @property
    def used(self) -> bool:
        """Whether a stage that was compared came from a process that had done something before."""
        return not COMPARED[self.cell.check].isdisjoint(self.log.used)

    def uncredited(self, task: Task) -> Done:
        """Obtain a stage without crediting it to this cell, because another cell is credited with it."""
        done = self.recorder.obtain_for_nobody(task)
        self.log.depends_on(done.failure)
        return done

    def weights(self) -> Weights | Failure | None:
        """The trained weights of the cell's model, pruned where the cell is; None where they are seeded.

        Where training failed, it is the failure.
        """
        if not self.model.training(self.cell.framework):
            return None
        dataset = self.obtain("dataset", self.tasks.dataset(self.model))
        if dataset.failure:
            return dataset.failure
        trained = self.obtain("train", self.tasks.train(self.model, self.cell.framework, dataset))
        if trained.failure:
            return trained.failure
        kept, weights = self.cell.kept, Weights(trained.key, trained.given["weights.npz"])
        if kept != WHOLE:
            task = self.tasks.prune(self.model, self.cell.framework, kept, dataset, weights)
            trained = self.obtain("prune", task)
            if trained.failure:
                return trained.failure
            weights = Weights(trained.key, trained.given["weights.npz"], kept)
        self.log.numbers["training"] = dict(trained.meta["train"])
        return weights

    def file(self, source: Cell | None = None) -> OnnxFile | Failure:
        """The ONNX file of the cell, or of ``source`` if given: the user's own file or an exported one.

        It comes with the result of onnx's checker, or it is the failure that prevented it.
        """
        weights = self.weights()
        if isinstance(weights, Failure):
            return weights
        if self.model.onnx is not None:
            given, origin = self.model.onnx, self.model.onnx.content
        else:
            export = self.obtain("export", self.tasks.export(self.model, source or self.cell, weights))
            if export.failure:
                return export.failure
            given, origin = export.given["model.onnx"], export.key
        check = self.obtain("check", self.tasks.check(given, origin, self.model))
        if check.failure:
            return check.failure
        self.log.note_file(check.meta["check"])
        if self.model.onnx is not None and QONNX.intersection(check.meta["check"]["custom_domains"]):
            return self._of_qonnx(given, origin)
        return OnnxFile(given, origin, check, weights)

    def _of_qonnx(self, given: GivenFile, origin: str) -> OnnxFile | Failure:
        """A user's QONNX file with ONNX's own operators in place of Quant nodes, or why it has no such form."""
        done = self.obtain("qonnx", self.tasks.without_quant_nodes(given, origin, self.model))
        if done.failure:
            return done.failure
        self.log.artefacts["qonnx"] = dict(done.meta["prepare"]["weights"])
        self.log.flag(FROM_QONNX)
        check = self.obtain("check", self.tasks.check(done.given["model.onnx"], done.key, self.model))
        return check.failure or OnnxFile(done.given["model.onnx"], done.key, check)

    def inputs(self, file: OnnxFile) -> GeneratedInputs:
        """The generated inputs of the cell's file, under the file's own names."""
        return self.tasks.inputs(self.model, self.cell.framework, file.check)

    def without_inputs(self, inputs: GeneratedInputs) -> Outcome | None:
        """The outcome of a cell whose file cannot be given inputs; None where it can.

        An exported file with other inputs than the model's fails in the cell of its export.
        """
        if inputs.refused:
            return self.log.outcome(Status.ERROR, inputs.refused, stage=Stage.CHECK, symptom=Symptom.HARNESS)
        if inputs.beyond:
            return self.log.unverified(Unverified.HARNESS, inputs.beyond, stage=Stage.CHECK)
        if inputs.complaint and self.cell.check is not Check.EXPORT:
            return self.log.unverified(Unverified.BLOCKED, f"export failed: {inputs.complaint}")
        if inputs.complaint:
            return self.log.outcome(Status.ERROR, inputs.complaint, stage=Stage.CHECK, symptom=Symptom.INVALID_MODEL)
        return None

    def reference(self, file: OnnxFile) -> Task:
        """The task of the framework's own float64 reference."""
        return self.tasks.reference(self.model, self.cell.framework, file.weights)

    def evaluate(self, file: Path | GivenFile, origin: str, inputs: GeneratedInputs, *, perturbed: int = 0) -> Done:
        """The file evaluated in float64 on these inputs, ``perturbed`` times also with a perturbation."""
        return self.obtain("evaluate", self.tasks.evaluate(file, origin, self.model, inputs, perturbed=perturbed))

    def mutants(self, file: OnnxFile, inputs: GeneratedInputs) -> Done:
        """The outputs of the file's mutants (docs/numbers.md, "Could this model show an error?")."""
        return self.obtain("mutants", self.tasks.mutants(file.given, file.origin, file.check, self.model, inputs))

    def failed_on_inputs(self, failure: Failure, file: OnnxFile, inputs: GeneratedInputs) -> Outcome:
        """The outcome of a tool that failed, perhaps at running a user's file on inputs that nothing can run it on.

        It is no error of the tool where both the reference evaluator and onnxruntime reject the same inputs.
        """
        at_run = failure.stage is Stage.RUN and failure.symptom in (Symptom.EXCEPTION, Symptom.CRASH)
        if self.model.onnx is None or not at_run:
            return self.failed(failure)
        evaluated = self.evaluate(file.given, file.origin, inputs, perturbed=1).failure
        if evaluated is None or evaluated.symptom is not Symptom.EXCEPTION:
            return self.failed(failure)
        if self.uncredited(self.tasks.run(file.given, file.origin, self.model, inputs)).failure is None:
            return self.failed(failure)
        return self.without_reference(evaluated, Stage.REFERENCE)

    def without_reference(self, evaluated: Failure, stage: Stage | None = None) -> Outcome:
        """The outcome where the evaluator of references failed, with what it says and what the user can do.

        That an output has another shape for each input is a limit of the harness.
        """
        if any(name.rpartition(".")[2] == Ragged.__name__ for name in evaluated.types):
            return self.log.unverified(Unverified.HARNESS, evaluated.message, stage=stage)
        hint = "" if self.model.given or self.model.onnx is None else " (--bench-inputs FILE.npz gives others)"
        text = f"nothing to compare with: the reference evaluator rejects these inputs{hint}: {evaluated.message}"
        return self.log.unverified(Unverified.NO_REFERENCE, text, stage=stage)

    def failed(self, failure: Failure) -> Outcome:
        """The outcome of a cell whose stage failed."""
        return self.log.failed(failure)
