"""Registered models by name: the ONNX file that their framework exports, and its facts, through the cache of stages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_plugin.characterise.facts import Facts
from bench_plugin.characterise.outline import outline_of
from bench_plugin.cli.shared.model_facts import ADAPTER, CannotRead, read_facts
from bench_plugin.cli.shared.output import note
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import BenchError, UsageError
from bench_plugin.domain.outcome import Failure, Stage
from bench_plugin.domain.settings import Settings, settings_here
from bench_plugin.domain.texts.choices import unknown
from bench_plugin.inventory.models import Model
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.planner import declared_export
from bench_plugin.pipeline.cache import Cache, default_folder
from bench_plugin.pipeline.cell_log import CellLog
from bench_plugin.pipeline.cell_run import CellRun, InputChanged, OnnxFile
from bench_plugin.pipeline.judging.judge import Judge
from bench_plugin.pipeline.stage_recorder import StageRecorder
from bench_plugin.pipeline.stages import CallSpec, Stages, Task
from bench_plugin.pipeline.tasks.model_tasks import Tasks
from bench_plugin.reach.processes.supervisor import AgentPool
from bench_plugin.reach.processes.zipapp import agent_digest

USUAL = "pytorch"  # the framework whose export is taken where none is named


class CannotExport(BenchError):
    """The framework did not make an ONNX file of the model."""


@dataclass(frozen=True)
class Exported:
    """The ONNX file of a registered model, and the sizes of its symbols other than the batch."""

    path: Path
    sizes: Mapping[str, int]


class RegisteredModels:
    """Makes files and facts of the models of a workspace. It must be made in the main thread; ``close`` ends it."""

    def __init__(self, settings: Settings, workspace: Workspace) -> None:
        self.workspace = workspace
        self._pool = AgentPool(
            environments=lambda name: workspace.toolchains.ensure(name, progress=note),
            folder=settings.results.parent / "logs", adapters=workspace.catalog.sources, variables=workspace.variables,
        )  # fmt: skip
        self._cache = Cache(settings.cache or default_folder(), note=note)
        self._stages = Stages(
            self._cache, self._pool, workspace.catalog, workspace.fingerprints, agent_digest=agent_digest(),
            refresh=False,
        )  # fmt: skip
        self._tasks = Tasks(workspace, seed=settings.seed, threads=settings.runtime_threads())

    def close(self) -> None:
        """End every agent, and give up the entries of the cache."""
        self._pool.close()
        self._cache.close()

    def file(self, name: str, framework: str = "") -> OnnxFile:
        """The ONNX file of a model, exported by ``framework`` (default: PyTorch, else the first that has the model).

        Raises UsageError for a model or a framework that is not known, CannotExport where the export fails,
        EnvironmentMissing without the framework's toolchain.
        """
        model = self._model(name)
        cell = self._cell(model, framework)
        run = CellRun(cell, model, CellLog({}), Judge({}), self._tasks, StageRecorder(self._stages))
        try:
            file = run.file()
        except InputChanged as changed:
            raise CannotExport(str(changed)) from changed
        if isinstance(file, Failure):
            raise CannotExport(f"{name}: {cell.framework} makes no ONNX file of it: {file.stage}: {file.message}")
        return file

    def exported(self, name: str, framework: str = "") -> Exported:
        """The path of that file, and the sizes that go with it. Raises as :meth:`file` does."""
        file = self.file(name, framework)
        return Exported(file.path, self._sizes(self._model(name), file, framework))

    def facts(self, name: str, batch: int = 1, framework: str = "") -> Facts:
        """The facts of that file at a batch; its other symbols have the first size that the model declares.

        Raises as :meth:`file` does, and CannotRead for a file that does not allow the batch.
        """
        model, file = self._model(name), self.file(name, framework)
        meta = {"batch": batch, "sizes": self._sizes(model, file, framework)}
        parts = {"file": file.origin}
        outline = outline_of(file.path)
        task = Task(
            Stage.CHECK, ADAPTER, (CallSpec("facts", meta),), parts, self._tasks.limits(model, ADAPTER),
            {"model.onnx": outline},
        )  # fmt: skip
        done = self._stages.obtain(task)
        if done.failure is not None:
            raise CannotRead(f"{name}: {done.failure.message}")
        return Facts.read(json.loads(done.files["facts.json"].read_bytes()))

    def _model(self, name: str) -> Model:
        models = self.workspace.models
        if name not in models:
            raise unknown("model", name, models, listed="models")
        return models[name]

    def _cell(self, model: Model, framework: str) -> Cell:
        """The cell of the export: the usual exporter of the framework at its usual opset."""
        if model.onnx is not None:
            return Cell(Check.EQUIVALENCE, model.name, "onnx")
        frameworks = self.workspace.catalog.of_kind("framework")
        has = [one for one in (USUAL, *frameworks) if one in model.constructors and one in frameworks]
        if not has:
            raise UsageError(f"{model.name}: no framework here has this model")
        if framework and framework not in frameworks:
            raise unknown("framework", framework, frameworks)
        adapter = frameworks[framework or has[0]]
        if not adapter.exporters:
            raise UsageError(f"{adapter.name} has no exporter to ONNX")
        first = adapter.default_pairs[0][0] if adapter.default_pairs else next(iter(adapter.exporters))
        cell = Cell(Check.EXPORT, model.name, adapter.name, first, adapter.exporters[first].opset)
        if declared := declared_export(cell, model, adapter):
            raise UsageError(f"{model.name}: {declared.reason}")
        return cell

    def _sizes(self, model: Model, file: OnnxFile, framework: str) -> dict[str, int]:
        """The sizes of the file's symbols by its own names, but for those that an input has first: the batch."""
        declared: Mapping[str, Any] = file.check.meta["check"]
        source = framework or self._cell(model, framework).framework
        binding = self._tasks.inputs(model, source, file.check).binding
        first = {row["shape"][0] for row in declared["inputs"] if row["shape"]}
        return {name: size for name, size in binding.items() if name and name not in first}


@contextmanager
def registered_models(settings: Settings | None = None) -> Iterator[RegisteredModels]:
    """The registered models of the folder that the user is in."""
    chosen = settings or settings_here()
    models = RegisteredModels(chosen, Workspace.load(chosen))
    try:
        yield models
    finally:
        models.close()


def facts_of(name: str, batch: int = 1, framework: str = "") -> Facts:
    """The facts of a registered model, or of an ONNX file that ``name`` is the path of, at a batch.

    Raises as :meth:`RegisteredModels.facts` and :func:`read_facts` do.
    """
    if name.endswith(".onnx"):
        return read_facts(Path(name), batch=batch, sizes={})
    with registered_models() as models:
        return models.facts(name, batch, framework)


def onnx_of(name: str, framework: str = "") -> Path:
    """The ONNX file of a registered model in the cache, which is not to be written to; a path is given back.

    It stays there until the cache is pruned. Raises as :meth:`RegisteredModels.file` does.
    """
    if name.endswith(".onnx"):
        return Path(name)
    with registered_models() as models:
        return models.file(name, framework).path
