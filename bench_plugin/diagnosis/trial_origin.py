"""The file that a cell's tool was given, made again: exported, of reduced precision, or an operator case."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bench_plugin.diagnosis.parts import CannotSay, Origin
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Failure
from bench_plugin.domain.precision import ORIGINAL
from bench_plugin.inventory.models import Model
from bench_plugin.inventory.workspace import Workspace, plain_model
from bench_plugin.pipeline.cell_log import Trail
from bench_plugin.pipeline.compile_tasks import CompileTasks
from bench_plugin.pipeline.corpus import Corpus, tensors
from bench_plugin.pipeline.stages import Stages
from bench_plugin.pipeline.steps import OnnxFile, Steps
from bench_plugin.pipeline.tasks import Drawn, Tasks

SAMPLES = 4


def model_of(workspace: Workspace, cell: Cell) -> Model:
    """The model that the cell is of. Raises UsageError."""
    if cell.check is Check.OPERATOR:
        return plain_model(Path(__file__))  # a case has no model; only its limits are asked
    try:
        return workspace.models[cell.model]
    except KeyError:
        raise UsageError(f"model {cell.model!r} is not known here; for a plain file give its path") from None


class Origins:
    """Makes it with the stages of a run; what is no stage's file lies in ``folder``."""

    def __init__(self, stages: Stages, tasks: Tasks, compile_tasks: CompileTasks, folder: Path) -> None:
        self._stages = stages
        self._tasks = tasks
        self._compile_tasks = compile_tasks
        self._folder = folder

    def of(self, cell: Cell, model: Model) -> Origin:
        """The cell's file with its inputs. Raises CannotSay."""
        return self._operator_case(cell.model) if cell.check is Check.OPERATOR else self._prepared(cell, model)

    def _prepared(self, cell: Cell, model: Model) -> Origin:
        steps = Steps(self._stages, self._tasks)
        file = steps.file(replace(cell, check=Check.EXPORT), model, Trail({}))
        if isinstance(file, Failure):
            raise CannotSay(f"there is no file to cut: {file.stage}: {file.message}")
        drawn = self._tasks.drawn(model, cell.framework, file.check)
        path = self._ready(cell, model, file, drawn) if cell.graph else file.path
        count = min(SAMPLES, model.samples)
        arrays = {
            name: (values[:count, None] if drawn.batched else values[:count])
            for name, values in drawn.samples().items()
        }
        outputs = list(file.check.meta["check"]["outputs"])
        return Origin(path, [dict(row) for row in drawn.described], outputs, drawn.binding, arrays)

    def _ready(self, cell: Cell, model: Model, file: OnnxFile, drawn: Drawn) -> Path:
        """The graph of reduced precision that the compiler was handed."""
        subject = self._compile_tasks.of_file(cell, model, file, drawn)
        dataset = self._stages.obtain(self._tasks.dataset(model)) if model.dataset else None
        calibration = self._compile_tasks.calibration_given(model, subject, dataset)
        done = self._stages.obtain(self._compile_tasks.graph(cell, model, subject, calibration, cell.graph or ORIGINAL))
        if done.failure:
            raise CannotSay(f"no {cell.graph} graph: {done.failure.message}")
        return done.files["model.onnx"]

    def _operator_case(self, name: str) -> Origin:
        data = Corpus(self._stages).case(name)
        path = self._folder / "case.onnx"
        path.write_bytes(bytes(data.model))
        arrays = {}
        for port, description in data.inputs.items():
            value = tensors(data.reader.value(description), description)
            if value is None or isinstance(value, list) or value.values.dtype.kind not in "fiub":
                raise CannotSay(f"{name}: input {port} is no plain tensor, which a file cannot hold")
            arrays[f"in:{port}"] = value.values[None]
        rows = [{"layout": "", "dtype": "", "shape": [], **row} for row in data.row["inputs"]]
        return Origin(path, rows, list(data.row["outputs"]), {}, arrays)
