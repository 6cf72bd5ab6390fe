"""The cell under computation: the cell with its model, its log and its judge, and how it obtains its stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench_plugin.domain.cell import Cell
from bench_plugin.domain.outcome import Failure, Outcome
from bench_plugin.inventory.models import Model
from bench_plugin.pipeline.cell_log import CellLog
from bench_plugin.pipeline.judge import Judge
from bench_plugin.pipeline.stage_recorder import StageRecorder
from bench_plugin.pipeline.stages import Done, Task
from bench_plugin.pipeline.tasks.generated_inputs import GeneratedInputs
from bench_plugin.pipeline.tasks.model_tasks import Tasks, Weights


@dataclass(frozen=True)
class OnnxFile:
    """A cell's ONNX file: ``origin`` is the recipe (or content hash) that it is addressed by, ``check`` what onnx's
    checker says of it, ``weights`` the trained ones that it was exported with.
    """

    path: Path
    origin: str
    check: Done
    weights: Weights | None = None


@dataclass(frozen=True)
class CellRun:
    """One computation of one cell. Stages that it obtains are credited to its log: seconds, memory, cache, repeats."""

    cell: Cell
    model: Model
    log: CellLog
    judge: Judge
    tasks: Tasks
    recorder: StageRecorder

    def obtain(self, name: str, task: Task) -> Done:
        """Obtain a stage and credit it to the cell as ``name``. Raises EnvironmentMissing."""
        return self.log.credit(name, self.recorder.obtain(self.cell, name, task))

    def uncredited(self, task: Task) -> Done:
        """Obtain a stage that another cell is credited with: what it took does not belong to this one."""
        return self.recorder.obtain_for_nobody(task)

    def weights(self) -> Weights | Failure | None:
        """The trained weights of the cell's source; None where weights are seeded."""
        if not self.model.training(self.cell.framework):
            return None
        dataset = self.obtain("dataset", self.tasks.dataset(self.model))
        if dataset.failure:
            return dataset.failure
        trained = self.obtain("train", self.tasks.train(self.model, self.cell.framework, dataset))
        if trained.failure:
            return trained.failure
        self.log.numbers["training"] = dict(trained.meta["train"])
        return Weights(trained.key, trained.files["weights.npz"])

    def file(self, source: Cell | None = None) -> OnnxFile | Failure:
        """The exported (or given) file of the cell, or of ``source`` in its place, with what the checker says of it."""
        weights = self.weights()
        if isinstance(weights, Failure):
            return weights
        if self.model.onnx is not None:
            path, origin = self.model.onnx, self.model.digest
        else:
            export = self.obtain("export", self.tasks.export(self.model, source or self.cell, weights))
            if export.failure:
                return export.failure
            path, origin = export.files["model.onnx"], export.key
        check = self.obtain("check", self.tasks.check(path, origin, self.model))
        if check.failure:
            return check.failure
        self.log.note_file(check.meta["check"])
        return OnnxFile(path, origin, check, weights)

    def inputs(self, file: OnnxFile) -> GeneratedInputs:
        """The inputs that the cell's file takes."""
        return self.tasks.inputs(self.model, self.cell.framework, file.check)

    def reference(self, file: OnnxFile) -> Task:
        """The task of the framework's own float64 reference."""
        return self.tasks.reference(self.model, self.cell.framework, file.weights)

    def evaluate(self, path: Path, origin: str, inputs: GeneratedInputs, *, perturbed: int = 0) -> Done:
        """A file's own function in float64, on these inputs."""
        return self.obtain("evaluate", self.tasks.evaluate(path, origin, self.model, inputs, perturbed=perturbed))

    def mutants(self, file: OnnxFile, inputs: GeneratedInputs) -> Done:
        """Outputs of the file's standard mutants."""
        return self.obtain("mutants", self.tasks.mutants(file.path, file.origin, self.model, inputs))

    def failed(self, failure: Failure) -> Outcome:
        """The outcome of a stage that did not finish."""
        return self.log.failed(failure)
