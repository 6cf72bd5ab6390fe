"""The protocol of a kind of check: what a cell occupies, and how its outcome is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.domain.outcome import Outcome, Status, Symptom
from bench_plugin.domain.settings import Settings
from bench_plugin.generation.search import KnownFailure
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.pipeline.admission import Admission
from bench_plugin.pipeline.cache import Cache
from bench_plugin.pipeline.cell_log import CellLog
from bench_plugin.pipeline.cell_run import CellRun, InputChanged
from bench_plugin.pipeline.judging.judge import Judge
from bench_plugin.pipeline.retry import with_repeat
from bench_plugin.pipeline.schedule import Need
from bench_plugin.pipeline.stage_recorder import StageRecorder
from bench_plugin.pipeline.stages import Stages
from bench_plugin.pipeline.tasks.compile_tasks import CompileTasks
from bench_plugin.pipeline.tasks.model_tasks import Tasks
from bench_plugin.reach.processes.supervisor import AgentPool


@dataclass(frozen=True)
class Parts:
    """What checks work with, put together once per run (session/engines/local.py).

    ``versions`` gives the versions that a cell's row names, ``admission`` the machine alone to a cell that takes times.
    The functions in ``closing`` are called at the end of the run.
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
    admission: Admission = field(default_factory=Admission)
    closing: list[Callable[[], None]] = field(default_factory=list)

    def computed(self, request: Request, compute: Callable[[CellRun], Outcome]) -> Outcome:
        """The outcome of a model's cell by ``compute``; a missing environment is one too.

        A mismatch from used processes is computed again with fresh ones, and what they give counts (retry.py).
        """
        first = self._cell_run(request)
        outcome = self._once(first, compute)
        if outcome.symptom is not Symptom.MISMATCH or not first.used:
            return outcome
        again = self._once(self._cell_run(request, fresh=True), compute)
        return with_repeat(again, outcome)

    def _once(self, run: CellRun, compute: Callable[[CellRun], Outcome]) -> Outcome:
        try:
            return compute(run)
        except InputChanged as changed:
            return run.failed(changed.failure)
        except EnvironmentMissing as missing:
            return run.log.outcome(Status.NOT_PROVIDED, str(missing))
        finally:
            self.recorder.finished(run.cell)

    def _cell_run(self, request: Request, *, fresh: bool = False) -> CellRun:
        """The computation of a model's cell, with its own log and judge."""
        cell = request.cell
        model, log = self.workspace.models[cell.model], CellLog(self.versions(cell))
        return CellRun(cell, model, log, Judge(request.tolerances), self.tasks, self.recorder, fresh)


@dataclass(frozen=True)
class Request:
    """A cell to compute.

    ``tolerances`` are those of the marker ``tolerance``: ``k``, ``floor``, ``cap``. ``max_slowdown`` is what the marker
    ``bench`` says of its time, a share. ``known`` are the failures that
    expectations list for the cell, for checks that search; ``others`` the outcomes of the cells that its Need names.
    """

    cell: Cell
    tolerances: Mapping[str, float] = field(default_factory=dict)
    known: Sequence[KnownFailure] = ()
    others: Mapping[Cell, Outcome] = field(default_factory=dict)
    max_slowdown: float | None = None


class Checker(Protocol):
    """Computes the cells of one kind of check; safe to use from several threads."""

    checks: frozenset[Check]

    def need(self, cell: Cell) -> Need:
        """What the cell occupies while it is computed, and which cells must be computed before it."""

    def run(self, request: Request) -> Outcome:
        """The outcome of the cell. A failed stage and a missing environment are outcomes too, not exceptions."""
