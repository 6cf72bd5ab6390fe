"""What a kind of check offers: which adapters a cell needs, what it occupies, and how its outcome is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.outcome import Outcome
from bench_plugin.domain.settings import Settings
from bench_plugin.generation.search import KnownFailure
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.pipeline.cache import Cache
from bench_plugin.pipeline.cell_log import CellLog
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.judge import Judge
from bench_plugin.pipeline.schedule import Need
from bench_plugin.pipeline.stage_recorder import StageRecorder
from bench_plugin.pipeline.stages import Stages
from bench_plugin.pipeline.tasks.compile_tasks import CompileTasks
from bench_plugin.pipeline.tasks.model_tasks import Tasks
from bench_plugin.reach.processes.supervisor import AgentPool


@dataclass(frozen=True)
class Parts:
    """What checks are made of, put together once per run (session/engine.py).

    ``versions`` are those that a cell's row names; what is in ``closing`` is called at the end of the run.
    """

    settings: Settings
    workspace: Workspace
    pool: AgentPool
    cache: Cache
    stages: Stages
    recorder: StageRecorder
    tasks: Tasks
    compile_tasks: CompileTasks
    versions: Callable[[Cell], Mapping[str, str]]
    closing: list[Callable[[], None]] = field(default_factory=list)

    @contextmanager
    def cell_run(self, request: Request) -> Iterator[CellRun]:
        """The run of a cell of a model, with a log and a judge of its own."""
        cell = request.cell
        model, log = self.workspace.models[cell.model], CellLog(self.versions(cell))
        try:
            yield CellRun(cell, model, log, Judge(request.tolerances), self.tasks, self.recorder)
        finally:
            self.recorder.finished(cell)


@dataclass(frozen=True)
class Request:
    """A cell to compute.

    ``tolerances`` are those of a tolerance marker; ``known`` the failures that expectations list for it, for checks
    that search; ``others`` the outcomes of the cells that its Need names.
    """

    cell: Cell
    tolerances: Mapping[str, float] = field(default_factory=dict)
    known: Sequence[KnownFailure] = ()
    others: Mapping[Cell, Outcome] = field(default_factory=dict)


class Checker(Protocol):
    """Runs the cells of one kind of check; safe to use from several threads."""

    checks: frozenset[Check]

    def need(self, cell: Cell) -> Need:
        """What the cell occupies while it is computed, and which cells come before it."""

    def run(self, request: Request) -> Outcome:
        """The cell's outcome, whatever happens to it; a missing environment is one too."""
