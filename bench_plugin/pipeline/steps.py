"""Steps of a cell: stages that are obtained one by one, noted in the trail, and seen from outside as progress."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.outcome import Failure
from bench_plugin.inventory.models import Model
from bench_plugin.pipeline.cell_log import Trail
from bench_plugin.pipeline.stages import Done, Stages, Task
from bench_plugin.pipeline.tasks import Tasks, Weights


@dataclass(frozen=True)
class OnnxFile:
    """A file on its way: ``origin`` is the recipe (or content hash) that it is addressed by."""

    path: Path
    origin: str
    check: Done
    weights: Weights | None = None


class Steps:
    """Shared by all checks of a run; safe to use from several threads."""

    def __init__(self, stages: Stages, tasks: Tasks) -> None:
        self._stages = stages
        self._tasks = tasks
        self._at: dict[Cell, str] = {}

    def progress(self, cell: Cell) -> str:
        """The step that the cell is at."""
        return self._at.get(cell, "waiting")

    def finished(self, cell: Cell) -> None:
        """The cell has its outcome."""
        self._at.pop(cell, None)

    def take(self, cell: Cell, trail: Trail, name: str, task: Task) -> Done:
        """Obtain a stage as a step of the cell."""
        self._at[cell] = name
        return trail.passed(name, self._stages.obtain(task))

    def unnoted(self, task: Task) -> Done:
        """Obtain a stage that is somebody else's step: what it took does not belong to this cell."""
        return self._stages.obtain(task)

    def weights(self, cell: Cell, model: Model, trail: Trail) -> Weights | Failure | None:
        """The trained weights of a cell's source; None where weights are drawn."""
        if not model.training(cell.framework):
            return None
        dataset = self.take(cell, trail, "dataset", self._tasks.dataset(model))
        if dataset.failure:
            return dataset.failure
        trained = self.take(cell, trail, "train", self._tasks.train(model, cell.framework, dataset))
        if trained.failure:
            return trained.failure
        trail.numbers["training"] = dict(trained.meta["train"])
        return Weights(trained.key, trained.files["weights.npz"])

    def file(self, cell: Cell, model: Model, trail: Trail) -> OnnxFile | Failure:
        """The exported (or given) file of a cell's source, with what the checker says of it."""
        weights = self.weights(cell, model, trail)
        if isinstance(weights, Failure):
            return weights
        if model.onnx is not None:
            path, origin = model.onnx, model.digest
        else:
            export = self.take(cell, trail, "export", self._tasks.export(model, cell, weights))
            if export.failure:
                return export.failure
            path, origin = export.files["model.onnx"], export.key
        check = self.take(cell, trail, "check", self._tasks.check(path, origin, model))
        if check.failure:
            return check.failure
        described = check.meta["check"]
        if cell.check is Check.EXPORT:
            trail.converted = True
        if not described["valid"]:
            trail.flag(f"invalid: {described['objection']}")
        kept = ("ir", "opsets", "custom_domains", "external_data", "nodes", "bytes", "parameters")
        trail.artefacts["model.onnx"] = {key: described.get(key) for key in kept}
        return OnnxFile(path, origin, check, weights)
