"""The model of ``bench sensitivity``: its ONNX file, the inputs that it is measured on, and the right answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import BenchError, UsageError
from bench_plugin.domain.outcome import Failure
from bench_plugin.domain.settings import Settings, settings_here
from bench_plugin.domain.texts.choices import hint, unknown
from bench_plugin.inventory.models import Model
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.pipeline.cache import Cache, default_folder
from bench_plugin.pipeline.cell_log import CellLog
from bench_plugin.pipeline.cell_run import CellRun, InputChanged, OnnxFile
from bench_plugin.pipeline.judging.judge import Judge
from bench_plugin.pipeline.stage_recorder import StageRecorder
from bench_plugin.pipeline.stages import Done, Stages, Task
from bench_plugin.pipeline.tasks import subjects
from bench_plugin.pipeline.tasks.compile_tasks import CompileTasks
from bench_plugin.pipeline.tasks.model_tasks import Tasks
from bench_plugin.pipeline.tasks.subjects import InputSet, Subject
from bench_plugin.reach.processes.supervisor import AgentPool
from bench_plugin.reach.processes.zipapp import agent_digest

Array = np.ndarray[Any, Any]

METHOD = "minmax"  # of calibration: the range of an activation is that of its values
ONNX = "onnx"  # the framework of a file that no framework made here


class CannotMeasure(BenchError):
    """There is nothing to measure: no file, no inputs, or outputs without a distance."""


@dataclass(frozen=True)
class Studied:
    """A model to study: ``subject`` is its ONNX file, ``inputs`` are what it is measured on, and of ``calibration`` the
    ranges of activations are taken. ``labels`` int64 [N] are the right classes, None for a model without a task.
    """

    cell: Cell
    model: Model
    subject: Subject
    inputs: InputSet
    calibration: InputSet
    labels: Array | None


class Machine:
    """What computes: agents, the cache of stages, and the builders of tasks. ``close`` ends every process."""

    def __init__(self, settings: Settings, workspace: Workspace, note: Callable[[str], None]) -> None:
        self.workspace = workspace
        self._pool = AgentPool(
            environments=lambda name: workspace.toolchains.ensure(name, progress=note),
            folder=settings.results.parent / "logs", adapters=workspace.catalog.sources,
            variables=workspace.variables,
        )  # fmt: skip
        self._cache = Cache(settings.cache or default_folder(), note=note)
        stages = Stages(
            self._cache, self._pool, workspace.catalog, workspace.fingerprints, agent_digest=agent_digest(),
            refresh=False,
        )  # fmt: skip
        self.recorder = StageRecorder(stages)
        self.tasks = Tasks(workspace, seed=settings.seed, threads=settings.runtime_threads())
        self.compile_tasks = CompileTasks(workspace, threads=self.tasks.threads)

    def obtain(self, task: Task) -> Done:
        """The finished stage of a task, perhaps from the cache. Raises EnvironmentMissing."""
        return self.recorder.obtain_for_nobody(task)

    def close(self) -> None:
        """End every agent."""
        self._pool.close()
        self._cache.close()


def chosen(name: str, inputs: Path | None) -> tuple[Settings, Workspace, Model]:
    """The model of a name or of an ONNX file, with the settings and the workspace that it is in.

    Raises UsageError for a name that is not known, a file that is not there, and inputs of a model that has its own.
    """
    settings = settings_here()
    if Path(name).suffix != ".onnx":
        workspace = Workspace.load(settings)
        if name not in workspace.models:
            raise unknown("model", name, workspace.models, listed="models")
        if inputs is not None:
            raise UsageError(f"--inputs: {name} has inputs of its own; they are for an ONNX file")
        return settings, workspace, workspace.models[name]
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    files = (inputs,) if inputs is not None else ()
    settings = replace(settings, selection=replace(settings.selection, onnx_files=(path,), onnx_inputs=files))
    workspace = Workspace.load(settings)
    return settings, workspace, workspace.models[path.stem]


def study(machine: Machine, model: Model, framework: str, labels: Path | None) -> Studied:
    """The model's file with its inputs, made by the stages that checks use.

    Raises UsageError for a framework that does not have the model and for labels that do not fit, CannotMeasure where a
    stage fails.
    """
    if model.detections:
        raise CannotMeasure(f"{model.name} gives detections, which have no distance that a layer could be ranked by")
    cell = _cell(machine, model, framework)
    run = CellRun(cell, model, CellLog({}), Judge({}), machine.tasks, machine.recorder)
    try:
        file = run.file()
    except InputChanged as changed:
        raise CannotMeasure(str(changed)) from changed
    if isinstance(file, Failure):
        raise CannotMeasure(f"{model.name}: there is no ONNX file: {file.stage}: {file.message}")
    subject = _subject(run, file)
    dataset = run.uncredited(machine.tasks.dataset(model)) if model.dataset else None
    if dataset is not None and dataset.failure:
        raise CannotMeasure(f"{model.name}: there is no dataset: {dataset.failure.message}")
    calibration = subjects.calibration_set(model, subject, dataset, seed=machine.tasks.seed, method=METHOD)
    if dataset is not None and model.training(cell.framework):
        if labels is not None:
            raise UsageError(f"--labels: {model.name} has a dataset of its own; they are for an ONNX file")
        images = subjects.test_set(model, subject, dataset)
        return Studied(cell, model, subject, images, calibration, dataset.arrays["y_test"])
    return Studied(cell, model, subject, subject.inputs, calibration, _labels(labels, subject))


def _cell(machine: Machine, model: Model, framework: str) -> Cell:
    """The cell of the model's quality check in the framework; by default the first that it is trained in."""
    if model.onnx is not None:
        if framework:
            raise UsageError(f"--framework: {model.title} is a file already; a framework is for a model of the project")
        return Cell(Check.QUALITY, model.name, ONNX)
    trained = [name for name in model.constructors if model.training(name)]
    name = framework or next(iter([*trained, *model.constructors]))
    if name not in model.constructors:
        raise UsageError(f"--framework: {model.name} is not in {name!r}; {hint(name, model.constructors)}")
    adapter = machine.workspace.catalog[name]
    exporter = adapter.default_pairs[0][0] if adapter.default_pairs else next(iter(adapter.exporters))
    return Cell(Check.QUALITY, model.name, name, exporter=exporter, opset=adapter.exporters[exporter].opset)


def _subject(run: CellRun, file: OnnxFile) -> Subject:
    """The file as a subject with its inputs. Raises UsageError for inputs that do not fit, CannotMeasure for none."""
    inputs = run.inputs(file)
    if inputs.refused:
        raise UsageError(inputs.refused.replace("--bench-inputs", "--inputs"))
    if why := inputs.beyond or inputs.complaint:
        raise CannotMeasure(f"{run.model.name}: {why}")
    if not inputs.described:
        raise CannotMeasure(f"{run.model.name}: the model takes no inputs, so nothing changes with them")
    return subjects.of_file(run.cell, run.model, file, inputs)


def _labels(path: Path | None, subject: Subject) -> Array | None:
    """The right classes of the subject's inputs, int64 [N]. Raises UsageError for a file that does not hold them."""
    if path is None:
        return None
    try:
        values = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise UsageError(f"--labels: {path} is not an .npy file of numbers: {error}") from error
    count = len(next(iter(subject.inputs.arrays().values())))
    if not isinstance(values, np.ndarray) or values.shape != (count,) or values.dtype.kind not in "iu":
        found = f"{values.dtype} {list(values.shape)}" if isinstance(values, np.ndarray) else "several arrays"
        raise UsageError(f"--labels: {path} holds {found}; it must hold one whole number for each of {count} inputs")
    return values.astype(np.int64)
