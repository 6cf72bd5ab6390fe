"""The file that a cell's tool got, made again: an export, its reduced precision, or an operator case."""

from __future__ import annotations

from pathlib import Path

from bench_plugin.diagnosis.parts import CannotSay, Origin
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Failure
from bench_plugin.inventory.models import Model
from bench_plugin.inventory.workspace import Workspace, plain_model
from bench_plugin.pipeline.cell_log import CellLog
from bench_plugin.pipeline.cell_run import CellRun, InputChanged, OnnxFile
from bench_plugin.pipeline.judging.judge import Judge
from bench_plugin.pipeline.stage_recorder import StageRecorder
from bench_plugin.pipeline.stages import Stages
from bench_plugin.pipeline.tasks import graph_tasks, subjects
from bench_plugin.pipeline.tasks.case_subjects import PORT
from bench_plugin.pipeline.tasks.corpus import Corpus, maker_of, tensors
from bench_plugin.pipeline.tasks.generated_inputs import GeneratedInputs
from bench_plugin.pipeline.tasks.model_tasks import Tasks

SAMPLES = 4


def model_of(workspace: Workspace, cell: Cell) -> Model:
    """The model of the cell. Raises UsageError for a model that is not in the workspace."""
    if cell.check is Check.OPERATOR:
        return plain_model(Path(__file__))  # a case has no model; only the limits of this one are used
    try:
        return workspace.models[cell.model]
    except KeyError:
        raise UsageError(f"model {cell.model!r} is not known here; for a plain file give its path") from None


class Origins:
    """Makes the file with the stages of a run; files that no stage made are in ``folder``."""

    def __init__(self, stages: Stages, tasks: Tasks, calibration: str, folder: Path) -> None:
        self._stages = stages
        self._tasks = tasks
        self._calibration = calibration
        self._folder = folder

    def of(self, cell: Cell, model: Model) -> Origin:
        """The cell's file with its inputs [N, ...]. Raises CannotSay where it cannot be made."""
        return self._operator_case(cell.model) if cell.check is Check.OPERATOR else self._prepared(cell, model)

    def _prepared(self, cell: Cell, model: Model) -> Origin:
        run = CellRun(cell, model, CellLog({}), Judge({}), self._tasks, StageRecorder(self._stages))
        try:
            file = run.file()
        except InputChanged as changed:
            raise CannotSay(str(changed)) from changed
        if isinstance(file, Failure):
            raise CannotSay(f"there is no ONNX file to extract from: {file.stage}: {file.message}")
        inputs = run.inputs(file)
        path = self._graph(run, file, inputs) if cell.graph else file.path
        count = min(SAMPLES, model.samples)
        arrays = {
            name: (values[:count, None] if inputs.batched else values[:count])
            for name, values in inputs.samples().items()
        }
        outputs = list(file.check.meta["check"]["outputs"])
        return Origin(path, [dict(row) for row in inputs.described], outputs, inputs.binding, arrays)

    def _graph(self, run: CellRun, file: OnnxFile, inputs: GeneratedInputs) -> Path:
        """The graph of reduced precision that the compiler got. Raises CannotSay."""
        cell, model = run.cell, run.model
        subject = subjects.of_file(cell, model, file, inputs)
        dataset = run.uncredited(self._tasks.dataset(model)) if model.dataset else None
        calibration = subjects.calibration_set(
            model, subject, dataset, seed=self._tasks.seed, method=self._calibration
        )  # fmt: skip
        task = graph_tasks.prepared(
            self._tasks, model, subject, calibration, cell.graph, self._calibration, cell.types
        )  # fmt: skip
        done = run.uncredited(task)
        if done.failure:
            raise CannotSay(f"no {cell.graph} graph: {done.failure.message}")
        return done.files["model.onnx"]

    def _operator_case(self, name: str) -> Origin:
        data = Corpus(self._stages, maker_of(name)).case(name)
        path = self._folder / "case.onnx"
        path.write_bytes(bytes(data.model))
        arrays = {}
        for port, description in data.inputs.items():
            value = tensors(data.reader.value(description), description)
            if value is None or isinstance(value, list) or value.values.dtype.kind not in "fiub":
                raise CannotSay(f"{name}: input {port} is no plain tensor, which a file cannot hold")
            arrays[f"in:{port}"] = value.values[None]
        rows = [{**PORT, **row} for row in data.row["inputs"]]
        return Origin(path, rows, list(data.row["outputs"]), {}, arrays)
