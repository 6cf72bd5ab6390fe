"""The ONNX file and the facts of a registered model, exported by its framework through the cache of stages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_plugin.characterise.facts import Facts
from bench_plugin.cli.shared.model_facts import read_facts
from bench_plugin.cli.shared.output import note
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import BenchError, UsageError
from bench_plugin.domain.outcome import Failure
from bench_plugin.domain.settings import Settings, settings_here
from bench_plugin.domain.texts.choices import unknown
from bench_plugin.inventory.models import Model
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.pipeline.cache import Cache, default_folder
from bench_plugin.pipeline.cell_log import CellLog
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.judge import Judge
from bench_plugin.pipeline.stage_recorder import StageRecorder
from bench_plugin.pipeline.stages import Stages
from bench_plugin.pipeline.tasks.model_tasks import Tasks
from bench_plugin.reach.processes.supervisor import AgentPool
from bench_plugin.reach.processes.zipapp import agent_digest


class CannotExport(BenchError):
    """The model could not be exported to ONNX."""


@dataclass(frozen=True)
class Exported:
    """The ONNX file of a registered model, and the sizes of its symbols other than that of the first dimension."""

    path: Path
    sizes: Mapping[str, int]


def onnx_of(name: str, framework: str = "pytorch") -> Path:
    """The ONNX file of a registered model, which its framework exports unless the cache has it.

    Raises UsageError for a model that does not exist or that the framework does not have, CannotExport where the export
    fails.
    """
    return exported(name, framework).path


def facts_of(name: str, batch: int = 1, framework: str = "pytorch") -> Facts:
    """The facts of a registered model at a batch and at the sizes that its file declares. Raises as :func:`onnx_of`."""
    found = exported(name, framework)
    return read_facts(found.path, batch=batch, sizes=found.sizes)


def exported(name: str, framework: str = "pytorch") -> Exported:
    """The ONNX file of a registered model with the sizes of its symbols. Raises as :func:`onnx_of`."""
    settings = settings_here()
    workspace = Workspace.load(settings)
    if name not in workspace.models:
        raise unknown("model", name, workspace.models, listed="models")
    model = workspace.models[name]
    if model.onnx is not None:
        return Exported(model.onnx.path, {})
    cell = _cell(workspace, model, framework)
    cache = Cache(settings.cache or default_folder(), note=note)
    pool = AgentPool(
        environments=lambda one: workspace.toolchains.ensure(one, progress=note),
        folder=settings.results.parent / "logs", adapters=workspace.catalog.sources, variables=workspace.variables,
    )  # fmt: skip
    try:
        return _exported(settings, workspace, cell, model, Stages(
            cache, pool, workspace.catalog, workspace.fingerprints, agent_digest=agent_digest(), refresh=False
        ))  # fmt: skip
    finally:
        pool.close()
        cache.close()


def _exported(settings: Settings, workspace: Workspace, cell: Cell, model: Model, stages: Stages) -> Exported:
    tasks = Tasks(workspace, seed=settings.seed, threads=settings.runtime_threads())
    file = CellRun(cell, model, CellLog({}), Judge({}), tasks, StageRecorder(stages)).file()
    if isinstance(file, Failure):
        raise CannotExport(f"{model.name}: {cell.exporter} cannot export it: {file.stage}: {file.message}")
    return Exported(file.path, _sizes(file.check.meta["check"]["inputs"], model.binding(0)))


def _cell(workspace: Workspace, model: Model, framework: str) -> Cell:
    """A cell whose file is the one that the framework's usual exporter makes. Raises UsageError."""
    if framework not in model.constructors:
        known = ", ".join(model.constructors) or "no framework"
        raise UsageError(f"{model.name}: {framework} does not have this model; it is of {known}")
    adapter = workspace.catalog[framework]
    if not adapter.exporters:
        raise UsageError(f"{framework} has no exporter to ONNX")
    exporter = adapter.default_pairs[0][0] if adapter.default_pairs else next(iter(adapter.exporters))
    return Cell(Check.EQUIVALENCE, model.name, framework, exporter, adapter.exporters[exporter].opset)


def _sizes(inputs: list[Mapping[str, Any]], binding: Mapping[str, int]) -> dict[str, int]:
    """The sizes of the symbols of inputs, but for the one at the first dimension, which is the batch."""
    symbols = {size for row in inputs for size in row["shape"][1:] if isinstance(size, str)}
    return {name: binding[name] for name in sorted(symbols) if name in binding}
