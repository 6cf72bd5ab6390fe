"""The scheduler of cells: a few threads compute them ahead, while pytest waits for each in turn."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from bench_plugin.agent.measure import Heap
from bench_plugin.domain.cell import Cell
from bench_plugin.domain.outcome import Outcome
from bench_plugin.pipeline.admission import Admission

Compute = Callable[[Cell, Mapping[Cell, Outcome]], Outcome]


def _nothing() -> None:
    """What follows the end of most lanes."""


@dataclass(frozen=True)
class Need:
    """What a cell occupies while it is computed.

    Cells of one ``lane`` need the same agents, so they are computed one after the other. ``memory`` is the declared
    peak in bytes. ``after`` are the cells that must be computed first; the cell gets their outcomes. ``brief`` cells
    take less time than a change of threads: while theirs is the only lane, the thread that asks computes them.
    ``ended`` is called after the last cell of the lane.
    """

    lane: str
    memory: int
    after: tuple[Cell, ...] = ()
    brief: bool = False
    ended: Callable[[], None] = _nothing


class Schedule:
    """Computes every cell once, with ``jobs`` threads and ``memory`` bytes for the cells that run at the same time.

    A thread takes a cell whose lane no other thread works in, whose declared peak fits into the memory that is left,
    and whose predecessors are done: the one that a test waits for, else the next of the lane that has most work ahead,
    so that the longest lane does not end alone. While nothing runs, a cell is admitted whatever it declares.
    ``compute`` must be safe to call from several threads; ``need`` says what a cell needs. Every cell that is computed
    has a share of the machine by ``admission``, which gives the machine to one cell alone where that takes times.
    """

    def __init__(
        self, compute: Compute, need: Callable[[Cell], Need], *, jobs: int, memory: int,
        admission: Admission | None = None,
    ) -> None:  # fmt: skip
        self._admission = admission or Admission()
        self._compute = compute
        self._need = need
        self._jobs = jobs
        self._memory = memory
        self._needs: dict[Cell, Need] = {}
        self._lanes: dict[str, deque[Cell]] = {}
        self._ahead: Counter[str] = Counter()  # bytes that the waiting cells of each lane declare, brief ones left out
        self._running: dict[Cell, Need] = {}
        self._futures: dict[Cell, Future[Outcome]] = {}
        self._changed = threading.Condition()
        self._order: dict[Cell, int] = {}  # of the waiting cells; below 0: a test waits for it
        self._first = self._last = 0
        self._planned = False
        self._closed = False
        self._heap = Heap()
        self._threads: list[threading.Thread] = []

    def plan(self, cells: Sequence[Cell]) -> None:
        """Queue cells in the given order and start to compute them."""
        with self._changed:
            self._planned = True
            for cell in cells:
                self._append(cell)
            single = len(self._lanes) == 1 and all(self._needs[cell].brief for cell in cells)
        if not single:
            self._start()

    def future(self, cell: Cell) -> Future[Outcome]:
        """The future outcome of a cell, which is computed next, whether it was planned or not."""
        with self._changed:
            self._put_first(cell)
            future, need = self._futures[cell], self._needs[cell]
            here = need.brief and not self._threads and len(self._lanes) == 1
            waiting = cell in self._order
            if here and waiting:
                self._taken(cell)
            self._changed.notify_all()
        if here and waiting:
            self._run(cell)
        elif not here:
            self._start()
        return future

    def close(self) -> None:
        """Cancel the waiting cells; every thread ends after the cell that it computes."""
        with self._changed:
            self._closed = True
            for lane in self._lanes.values():
                lane.clear()
            self._ahead.clear()
            self._order.clear()
            self._changed.notify_all()

    def join(self, seconds: float) -> None:
        """Wait for the threads to end, at most ``seconds`` each."""
        for thread in self._threads:
            thread.join(seconds)

    def _append(self, cell: Cell) -> None:
        """Put a cell at the end of its lane, behind its predecessors. The caller holds the condition."""
        if cell in self._needs:
            return
        need = self._known(cell)
        for other in need.after:
            self._append(other)
        self._last += 1
        self._order[cell] = self._last
        self._lanes.setdefault(need.lane, deque()).append(cell)
        self._ahead[need.lane] += _weight(need)

    def _put_first(self, cell: Cell) -> None:
        """Put a waiting cell in front of all others except its predecessors. The caller holds the condition."""
        known = cell in self._needs
        need = self._known(cell)
        if known and cell not in self._order:
            return  # it is running, or done
        lane = self._lanes.setdefault(need.lane, deque())
        if known and lane[0] != cell:
            lane.remove(cell)
        if not lane or lane[0] != cell:
            lane.appendleft(cell)
        if not known:
            self._ahead[need.lane] += _weight(need)
        self._first -= 1
        self._order[cell] = self._first
        for other in need.after:
            self._put_first(other)

    def _known(self, cell: Cell) -> Need:
        if cell not in self._needs:
            self._needs[cell], self._futures[cell] = self._need(cell), Future()
        return self._needs[cell]

    def _taken(self, cell: Cell) -> None:
        """Move a cell from its lane to the running ones. The caller holds the condition."""
        need = self._needs[cell]
        self._lanes[need.lane].remove(cell)
        self._ahead[need.lane] -= _weight(need)
        del self._order[cell]
        self._running[cell] = need

    def _start(self) -> None:
        for index in range(len(self._threads), self._jobs):
            thread = threading.Thread(target=self._work, name=f"bench-{index}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        while True:
            with self._changed:
                cell = self._take()
                while cell is None and not self._closed:
                    self._changed.wait()
                    cell = self._take()
                if cell is None:
                    return
            self._run(cell)

    def _run(self, cell: Cell) -> None:
        """Compute a cell that was taken."""
        need, future = self._needs[cell], self._futures[cell]
        try:
            others = {other: self._futures[other].result() for other in need.after}
            with self._admission.shared():
                try:
                    outcome = self._compute(cell, others)
                finally:
                    self._heap.trim()
            future.set_result(outcome)
        except BaseException as error:
            future.set_exception(error)
        finally:
            with self._changed:
                del self._running[cell]
                ended = self._planned and not self._lanes[need.lane] and not self._closed
                self._changed.notify_all()
        if ended:
            need.ended()

    def _rank(self, head: Cell) -> tuple[int, int, int]:
        """What comes first: cells that a test waits for, then the lane with the most work ahead, then the order."""
        order = self._order[head]
        return (0, 0, order) if order < 0 else (1, -self._ahead[self._needs[head].lane], order)

    def _take(self) -> Cell | None:
        """The first admissible cell, moved to the running ones. The caller holds the condition."""
        used = sum(need.memory for need in self._running.values())
        busy = {need.lane for need in self._running.values()}
        heads = [lane[0] for name, lane in self._lanes.items() if lane and name not in busy]
        for cell in sorted(heads, key=self._rank):
            need = self._needs[cell]
            if any(not self._futures[other].done() for other in need.after):
                continue
            if used + need.memory <= self._memory or not self._running:
                self._taken(cell)
                return cell
        return None


def _weight(need: Need) -> int:
    """The work that a cell stands for, in bytes: models that need more memory take longer."""
    return 0 if need.brief else need.memory
