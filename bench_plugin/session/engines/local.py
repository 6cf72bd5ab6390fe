"""The local engine: agents, cache, stages and the scheduler of this machine, put together once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext

from bench_plugin.checks.protocol import Parts, Request
from bench_plugin.checks.registry import checkers
from bench_plugin.compare.table import with_overrides
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome
from bench_plugin.domain.paths import LOGS
from bench_plugin.domain.settings import Settings
from bench_plugin.pipeline.admission import Admission
from bench_plugin.pipeline.cache import Cache, default_folder
from bench_plugin.pipeline.memory_tokens import MemoryTokens
from bench_plugin.pipeline.schedule import Need, Schedule
from bench_plugin.pipeline.stage_recorder import StageRecorder
from bench_plugin.pipeline.stages import Stages
from bench_plugin.pipeline.tasks.compile_tasks import CompileTasks
from bench_plugin.pipeline.tasks.model_tasks import Tasks
from bench_plugin.reach.environments.needed import NeededToolchains
from bench_plugin.reach.machine_memory import machine_memory
from bench_plugin.reach.processes.supervisor import AgentPool
from bench_plugin.reach.processes.zipapp import agent_digest
from bench_plugin.session.basis import Basis
from bench_plugin.session.engines.protocol import Begin, Note
from bench_plugin.session.unforeseen import unforeseen


class LocalEngine:
    """Computes cells. It must be made in the main thread, because the guardian starts before any other thread.

    ``close`` ends every process. ``without`` names boards that another machine has: no cell gets them here.
    """

    def __init__(self, basis: Basis, settings: Settings, note: Note, *, without: Collection[str] = ()) -> None:
        self._keys = basis.keys
        self._known = basis.known_failures
        self._all_boards = self._keys.all_boards
        self._needed = NeededToolchains(basis.workspace.toolchains, note)
        self._parts = _parts(basis, settings, note, self._needed, without)
        self._checkers = {check: checker for checker in checkers(self._parts) for check in checker.checks}
        self._tolerances: dict[Cell, Mapping[str, float]] = {}
        self._slowdowns: dict[Cell, float] = {}
        self._tokens = _tokens(settings, note)
        jobs = 1 if settings.beside_others else settings.jobs
        self._schedule = Schedule(
            self._compute, self._need, jobs=jobs, memory=machine_memory().available, admission=self._parts.admission
        )

    def tolerances(self, overrides: Mapping[Cell, Mapping[str, float]]) -> None:
        """Set the tolerances of cells whose tests have a marker, before :meth:`plan`."""
        self._tolerances.update(overrides)
        for cell, values in overrides.items():
            self._tolerances.update(dict.fromkeys(self._all_boards.divided(cell), values))

    def slowdowns(self, marked: Mapping[Cell, float]) -> None:
        """Set what the markers of tests say of the time of their cells, before :meth:`plan`."""
        for cell, most in marked.items():
            self._slowdowns.update(dict.fromkeys((cell, *self._all_boards.divided(cell)), most))

    def plan(self, cells: Sequence[Cell]) -> None:
        """Start to compute these cells ahead, in their order."""
        self._needed.expect(self._keys.toolchains(cells))
        self._schedule.plan(cells)

    def future(self, cell: Cell) -> Future[Outcome]:
        """The future outcome of a cell; it is computed next if it is not computed yet."""
        return self._schedule.future(cell)

    def progress(self, cell: Cell) -> str:
        """The stage that the cell is at now."""
        return self._parts.recorder.progress(cell)

    def close(self) -> None:
        """Cancel the waiting cells, and end every agent and the guardian."""
        self._parts.cache.cancel()
        if self._tokens:
            self._tokens.cancel()
        self._schedule.close()
        self._needed.close()
        self._parts.pool.close()
        self._schedule.join(seconds=5)
        for close in self._parts.closing:
            close()
        self._parts.cache.close()

    def _need(self, cell: Cell) -> Need:
        if self._all_boards.divided(cell):
            return self._all_boards.need(cell)
        return self._checkers[Check(cell.check)].need(cell)

    def _compute(self, cell: Cell, others: Mapping[Cell, Outcome]) -> Outcome:
        """The outcome of a cell, also where its check raises: other cells go on, and this one has its row."""
        try:
            if self._all_boards.divided(cell):
                return self._all_boards.joined(cell, others)
            request = Request(
                cell, self._tolerances.get(cell, {}), self._known(cell), others, self._slowdowns.get(cell)
            )
            with self._tokens.held(self._need(cell).memory, cell.id) if self._tokens else nullcontext():
                return self._checkers[Check(cell.check)].run(request)
        except Exception as error:
            return unforeseen(error, self._keys.versions(cell))


def check_tolerances(overrides: Mapping[Cell, Mapping[str, float]]) -> None:
    """Raises UsageError for a name or a value that the marker ``tolerance`` does not accept."""
    for values in overrides.values():
        try:
            with_overrides(**values)
        except (TypeError, ValueError) as error:
            raise UsageError(str(error)) from error


def prepared(basis: Basis, note: Note, cells: Sequence[Cell]) -> Begin:
    """What makes this engine; it always can be."""
    return lambda settings: LocalEngine(basis, settings, note)


def _parts(basis: Basis, settings: Settings, note: Note, needed: NeededToolchains, without: Collection[str]) -> Parts:
    workspace = basis.workspace
    cache = Cache(settings.cache or default_folder(), note=note)
    pool = AgentPool(
        environments=needed.python,
        folder=settings.results.parent / LOGS,
        adapters=workspace.catalog.sources,
        note=note,
        variables=workspace.variables,
        boards={name: reach for name, reach in workspace.boards.items() if name not in without},
        toolchains=workspace.toolchains,
        at_once=settings.at_once,
    )
    stages = Stages(
        cache, pool, workspace.catalog, workspace.fingerprints, agent_digest=agent_digest(), refresh=settings.refresh
    )
    threads, admission = settings.runtime_threads(), Admission()
    return Parts(
        settings=settings,
        workspace=workspace,
        pool=pool,
        cache=cache,
        stages=stages,
        recorder=StageRecorder(stages, admission),
        tasks=Tasks(workspace, seed=settings.seed, threads=threads),
        compile_tasks=CompileTasks(workspace, threads=threads),
        versions=basis.keys.versions,
        admission=admission,
    )


def _tokens(settings: Settings, note: Callable[[str], None]) -> MemoryTokens | None:
    """Tokens for memory where other processes compute cells beside this one; None where this one is alone."""
    if not settings.beside_others:
        return None
    return MemoryTokens((settings.cache or default_folder()) / "tokens", machine_memory().available, note=note)
