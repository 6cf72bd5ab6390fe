"""Work ahead: cells are computed in their order by a few threads, while pytest waits for each in turn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from bench_plugin.domain.cell import Cell
from bench_plugin.domain.outcome import Outcome


@dataclass(frozen=True)
class Need:
    """What a cell will occupy: toolchains, the first of which does most of the work, and peak memory in bytes."""

    toolchain: str
    memory: int


class Schedule:
    """Runs cells in threads, each once. ``run`` must be safe to call from several threads.

    A thread takes the first waiting cell whose main toolchain no other thread is using and whose declared peak
    fits beside what is running; when nothing runs, the first cell is admitted whatever it declares.
    """

    def __init__(self, run: Callable[[Cell], Outcome], *, jobs: int, memory: int) -> None:
        self._run = run
        self._jobs = jobs
        self._memory = memory
        self._waiting: dict[Cell, Need] = {}
        self._running: dict[Cell, Need] = {}
        self._futures: dict[Cell, Future[Outcome]] = {}
        self._changed = threading.Condition()
        self._closed = False
        self._threads: list[threading.Thread] = []

    def plan(self, needs: Mapping[Cell, Need]) -> None:
        """Queue cells in the order given and start working ahead."""
        with self._changed:
            for cell, need in needs.items():
                if cell not in self._futures:
                    self._futures[cell] = Future()
                    self._waiting[cell] = need
        for index in range(len(self._threads), self._jobs):
            thread = threading.Thread(target=self._work, name=f"bench-{index}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def future(self, cell: Cell, need: Need) -> Future[Outcome]:
        """The cell's outcome to come; a cell that was not planned is queued now, in front."""
        with self._changed:
            if cell not in self._futures:
                self._futures[cell] = Future()
                self._waiting = {cell: need, **self._waiting}
                self._changed.notify_all()
            elif cell in self._waiting:
                self._waiting = {cell: self._waiting.pop(cell), **self._waiting}
                self._changed.notify_all()
            future = self._futures[cell]
        if not self._threads:
            self.plan({})
        return future

    def running(self) -> Sequence[Cell]:
        """The cells being computed at this moment."""
        with self._changed:
            return list(self._running)

    def close(self) -> None:
        """Cancel what waits; threads end with the cell that they are at."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()

    def join(self, seconds: float) -> None:
        """Wait for the threads to end, at most ``seconds`` each."""
        for thread in self._threads:
            thread.join(seconds)

    def _work(self) -> None:
        while True:
            with self._changed:
                cell = self._take()
                while cell is None and not self._closed:
                    self._changed.wait()
                    cell = self._take()
                if cell is None:
                    return
            future = self._futures[cell]
            try:
                future.set_result(self._run(cell))
            except BaseException as error:
                future.set_exception(error)
            finally:
                with self._changed:
                    del self._running[cell]
                    self._changed.notify_all()

    def _take(self) -> Cell | None:
        """Move the next admissible cell from waiting to running; the condition is held."""
        used = sum(need.memory for need in self._running.values())
        busy = {need.toolchain for need in self._running.values()}
        for cell, need in self._waiting.items():
            fits = used + need.memory <= self._memory and need.toolchain not in busy
            if fits or not self._running:
                self._running[cell] = self._waiting.pop(cell)
                return cell
        return None
