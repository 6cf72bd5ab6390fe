"""The working part of a run: agents, cache, pipeline and the schedule over them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Protocol

from bench_plugin.checks.compiled.compiling import Compiling
from bench_plugin.checks.equivalence.check import Equivalence
from bench_plugin.checks.operators.check import Operators
from bench_plugin.checks.properties.check import Properties
from bench_plugin.checks.quality.check import Quality
from bench_plugin.checks.roundtrip.check import RoundTrip
from bench_plugin.compare.table import with_overrides
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome
from bench_plugin.domain.settings import Settings
from bench_plugin.inventory.workspace import TOOLS, Workspace
from bench_plugin.pipeline.cache import Cache, default_folder
from bench_plugin.pipeline.compile_tasks import CompileTasks
from bench_plugin.pipeline.schedule import Need, Schedule
from bench_plugin.pipeline.stages import Stages
from bench_plugin.pipeline.steps import Steps
from bench_plugin.pipeline.tasks import Tasks
from bench_plugin.reach.environments.needed import NeededToolchains
from bench_plugin.reach.processes.supervisor import AgentPool
from bench_plugin.reach.processes.zipapp import agent_digest

GIB = 2**30
PROPERTY_BYTES = GIB  # of a cell that searches tiny graphs


class Checker(Protocol):
    """Carries the cells of a few checks through their stages; ``run`` is called from several threads."""

    checks: frozenset[Check]

    def run(self, cell: Cell, overrides: Mapping[str, float]) -> Outcome:
        """The cell's outcome, whatever happens to it; ``overrides`` are those of a tolerance marker."""


class Engine:
    """Made in the main thread (the guardian must start before any other thread); ``close`` ends every process."""

    def __init__(self, settings: Settings, workspace: Workspace, note: Callable[[str], None]) -> None:
        self._workspace = workspace
        folder = settings.cache or default_folder()
        self._cache = Cache(folder, note=note)
        self._needed = NeededToolchains(workspace.toolchains, note)
        self._pool = AgentPool(
            environments=self._needed.python,
            folder=settings.results.parent / "logs",
            adapters=workspace.catalog.sources,
        )
        self._stages = Stages(
            self._cache,
            self._pool,
            workspace.catalog,
            workspace.toolchains,
            agent_digest=agent_digest(),
            refresh=settings.refresh,
        )
        tasks = Tasks(workspace, seed=settings.seed, threads=settings.threads or os.cpu_count() or 1)
        compile_tasks = CompileTasks(workspace, tasks, options=settings.options, calibration=settings.calibration)
        self._steps = Steps(self._stages, tasks)
        compiling = Compiling(workspace, self._steps, tasks, compile_tasks)
        self._checkers: tuple[Checker, ...] = (
            RoundTrip(workspace, self._steps, tasks),
            Equivalence(compiling),
            Quality(compiling),
            Properties(
                workspace,
                self._pool,
                threads=tasks.threads,
                effort=settings.search,
                database=folder / "properties",
                reports=settings.results.parent / "properties",
            ),
        )
        self._operators = Operators(
            workspace, self._stages, self._pool, self._cache, jobs=settings.jobs, refresh=settings.refresh
        )
        self._overrides: dict[Cell, Mapping[str, float]] = {}
        self.schedule = Schedule(self._compute, jobs=settings.jobs, memory=_memory())

    def need(self, cell: Cell) -> Need:
        """What the cell occupies while it is computed."""
        if cell.check is Check.PROPERTY:
            toolchain = self._workspace.catalog.compiler(cell.compiler)[0].toolchain_for("onnx")
            return Need(toolchain, PROPERTY_BYTES)
        model = self._workspace.models[cell.model]
        main = cell.importer_framework or cell.framework
        adapters = self._workspace.catalog.adapters
        toolchain = adapters[main].toolchain if main in adapters else adapters[TOOLS[0]].toolchain
        return Need(toolchain, int(model.memory_gb * GIB))

    def tolerances(self, overrides: Mapping[Cell, Mapping[str, float]]) -> None:
        """The tolerances of cells whose tests carry a marker; said before the cells are planned. Raises UsageError."""
        for values in overrides.values():
            try:
                with_overrides(**values)
            except (TypeError, ValueError) as error:
                raise UsageError(str(error)) from error
        self._overrides.update(overrides)

    def plan(self, cells: Sequence[Cell]) -> None:
        """Start working ahead on these cells, in their order."""
        self._needed.expect(self._workspace.toolchains_of(cells))
        needs = {cell: self.need(cell) for cell in cells if cell.check not in self._operators.checks}
        if needs:
            self.schedule.plan(needs)
        self._operators.plan([cell for cell in cells if cell.check in self._operators.checks])

    def future(self, cell: Cell) -> Future[Outcome]:
        """The cell's outcome, computed ahead or now; thousands of operator cells do without threads of the schedule."""
        if cell.check in self._operators.checks:
            return self._operators.future(cell)
        return self.schedule.future(cell, self.need(cell))

    def progress(self, cell: Cell) -> str:
        """What is being done for the cell at this moment, in two or three words."""
        return self._steps.progress(cell)

    def close(self) -> None:
        """Cancel what is ahead, end every agent and the guardian."""
        self.schedule.close()
        self._operators.stop()
        self._needed.close()
        self._pool.close()
        self.schedule.join(seconds=5)
        self._operators.close()
        self._cache.close()

    def _compute(self, cell: Cell) -> Outcome:
        checker = next(one for one in self._checkers if cell.check in one.checks)
        return checker.run(cell, self._overrides.get(cell, {}))


def _memory() -> int:
    """Memory that may be planned with, in bytes: what the kernel calls available now."""
    for line in Path("/proc/meminfo").read_text("ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 4 * GIB
