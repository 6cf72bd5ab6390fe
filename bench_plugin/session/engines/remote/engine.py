"""The engine of a run whose cells are computed by the workers of a cluster.

This process decides which worker gets which cell (dispatch.py), and the cluster carries it there. Only this process
writes rows.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial

from bench_plugin.domain.cell import Cell
from bench_plugin.domain.errors import BenchError
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom
from bench_plugin.domain.settings import Settings
from bench_plugin.session.basis import Basis
from bench_plugin.session.engines.protocol import Note
from bench_plugin.session.engines.remote import messages, worker
from bench_plugin.session.engines.remote.arrivals import arrived
from bench_plugin.session.engines.remote.cluster import Cluster, Known, Task
from bench_plugin.session.engines.remote.dispatch import Attempt, Dispatch
from bench_plugin.session.engines.remote.groups import wanted
from bench_plugin.session.engines.remote.members import ANSWER_SECONDS, Members

LOOK_SECONDS = 0.5  # between two questions to the scheduler which workers it has
WORKERS_A_SECOND = 400  # of a large cluster the scheduler is asked less often: its answer has a kB for each worker


class RemoteEngine:
    """Computes the cells of a run on the workers of a cluster; a thread of its own deals with them."""

    def __init__(self, basis: Basis, settings: Settings, note: Note, cluster: Cluster, members: Members) -> None:
        self._basis = basis
        self._folder = settings.results.parent
        self._note = note
        self._cluster = cluster
        self._members = members
        self._dispatch = Dispatch(cluster.limit("patience"))
        self._silent_seconds = cluster.limit("silent")
        self._deadline = cluster.limit("deadline")
        self._tolerances: dict[Cell, Mapping[str, float]] = {}
        self._futures: dict[Cell, Future[Outcome]] = {}
        self._divided: dict[Cell, tuple[Cell, ...]] = {}
        self._tasks: dict[Cell, Task] = {}
        self._joining: dict[str, tuple[Known, Task]] = {}
        self._heard: dict[str, tuple[float, float]] = {}  # by address: its last heartbeat, and when that was new here
        self._refused: set[str] = set()
        self._answered = time.monotonic()
        self._said: set[str] = set()
        self._lock = threading.Lock()  # guards dispatch, futures and tasks
        self._events: queue.SimpleQueue[tuple[Cell, Task] | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="bench-cluster", daemon=True)
        for member in members.agreed.values():
            self._dispatch.arrived(member.place)

    def tolerances(self, overrides: Mapping[Cell, Mapping[str, float]]) -> None:
        """Set the tolerances of cells whose tests have a marker, before :meth:`plan`."""
        self._tolerances.update(overrides)
        for cell, values in overrides.items():
            self._tolerances.update(dict.fromkeys(self._basis.keys.all_boards.divided(cell), values))

    def slowdowns(self, marked: Mapping[Cell, float]) -> None:
        """Take nothing: they limit --bench-against, which is a usage error with an engine on other machines."""

    def plan(self, cells: Sequence[Cell]) -> None:
        """Queue cells in the given order and start to compute them."""
        with self._lock:
            for cell in cells:
                self._add(cell)
        self._thread.start()

    def future(self, cell: Cell) -> Future[Outcome]:
        """The future outcome of a cell, which goes to the next worker that can take it."""
        with self._lock:
            self._add(cell)
            for one in self._divided.get(cell) or (cell,):
                self._dispatch.ask(one)
            future = self._futures[cell]
        self._events.put(None)
        return future

    def progress(self, cell: Cell) -> str:
        """Where the cell is."""
        with self._lock:
            attempts = [self._dispatch.running.get(one) for one in self._divided.get(cell) or (cell,)]
        names = ", ".join(one.place.name for one in attempts if one is not None)
        return f"worker {names}" if names else "waiting for a worker"

    def close(self) -> None:
        """Cancel what is not computed, tell the workers that the run is over, and end the connection."""
        self._closed = True
        self._events.put(None)
        if self._thread.is_alive():
            self._thread.join(ANSWER_SECONDS)
        with self._lock:
            for task in self._tasks.values():
                _released(task)
            for future in self._futures.values():
                future.cancel()
            addresses = list(self._dispatch.places)
        if addresses:
            self._cluster.leave(worker.leave, self._members.run, addresses)
        self._cluster.close()

    def _add(self, cell: Cell) -> None:
        """A cell to compute, or the cells of its boards. The caller holds the lock."""
        if cell in self._futures:
            return
        self._futures[cell] = Future()
        parts = self._basis.keys.all_boards.divided(cell)
        if parts:
            self._divided[cell] = parts
            for part in parts:
                self._add(part)
        else:
            self._dispatch.add(cell, wanted(self._basis, cell, self._deadline))

    def _work(self) -> None:
        """Take answers, look at the cluster, give out cells: in turn, until the engine is closed."""
        look = 0.0
        while not self._closed:
            try:
                for cell, task in self._taken(max(0.0, look - time.monotonic())):
                    self._take(cell, task)
                if time.monotonic() >= look:
                    workers = len(self._look())
                    look = time.monotonic() + max(LOOK_SECONDS, workers / WORKERS_A_SECOND)
                self._give()
            except OSError as error:
                look = time.monotonic() + LOOK_SECONDS
                self._unanswered(str(error))
            except Exception as error:  # this thread alone can end what the tests wait for
                look = time.monotonic() + LOOK_SECONDS
                self._end_all(f"the benchmark itself failed: {type(error).__name__}: {error}")

    def _taken(self, seconds: float) -> Iterator[tuple[Cell, Task]]:
        """The tasks that ended; waits ``seconds`` for the first one."""
        wait = seconds
        while True:
            try:
                event = self._events.get(timeout=wait) if wait else self._events.get_nowait()
            except queue.Empty:
                return
            wait = 0.0
            if event is not None:
                yield event

    def _take(self, cell: Cell, task: Task) -> None:
        """The outcome of a task that ended. Other tasks than the cell's own are of attempts that were given up."""
        with self._lock:
            if cell not in self._tasks or self._tasks[cell] is not task:
                return
            attempt = self._dispatch.running[cell]
        try:
            answer = task.result(timeout=ANSWER_SECONDS)
        except Exception as error:
            self._again(cell, f"gave no answer: {type(error).__name__}: {error}")
            return
        with self._lock:
            del self._tasks[cell]
        _released(task)
        if not answer["text"]:
            self._forgotten(cell, attempt)
            return
        member = self._members.agreed[attempt.place.address]
        try:
            arrival = arrived(answer, member.place, member.host, self._dispatch.story(cell), self._folder)
        except (BenchError, OSError) as error:
            self._ended(cell, _failed(f"worker {member.place.name}: {error}"))
            return
        for text in arrival.notes:
            self._say(f"worker {member.place.name}: {text}")
        self._ended(cell, arrival.outcome)

    def _again(self, cell: Cell, why: str) -> None:
        """One cell goes to another worker, or is given up after the second time."""
        with self._lock:
            reason = self._dispatch.gave_up(cell, why)
            _released(self._tasks.pop(cell))
        if reason:
            self._ended(cell, _failed(reason))

    def _forgotten(self, cell: Cell, attempt: Attempt) -> None:
        """The worker was idle for long and has forgotten the run: it is asked to join once more."""
        with self._lock:
            self._dispatch.returned(cell)
            self._dispatch.lost(attempt.place.address, "")
            self._members.agreed.pop(attempt.place.address, None)

    def _ended(self, cell: Cell, outcome: Outcome) -> None:
        """Give an outcome to whom waits for it, and join those of several boards."""
        with self._lock:
            self._dispatch.done(cell, time.monotonic())
            future = self._futures[cell]
            if future.set_running_or_notify_cancel():
                future.set_result(outcome)
            whole = [one for one, parts in self._divided.items() if cell in parts]
            whole = [one for one in whole if all(self._futures[part].done() for part in self._divided[one])]
        for one in whole:
            outcomes = {part: self._futures[part].result() for part in self._divided[one]}
            self._futures[one].set_result(self._basis.keys.all_boards.joined(one, outcomes))

    def _look(self) -> Mapping[str, Known]:
        """Ask the scheduler for its workers: new ones join, others are lost, and cells that nobody can do are given up.

        Raises OSError.
        """
        known = self._cluster.workers()
        now = self._answered = time.monotonic()
        silent = set()
        for address, one in known.items():
            beat = one.heartbeat
            if self._heard.get(address, (None,))[0] != beat:
                self._heard[address] = (beat, now)
            elif now - self._heard[address][1] > self._silent_seconds:
                silent.add(address)
        with self._lock:
            gone = [address for address in self._dispatch.places if address not in known]
            frozen = [address for address in self._dispatch.places if address in silent]
        self._lost(gone, "was lost")
        self._lost(frozen, f"sent no heartbeat for {self._silent_seconds:g} s")
        self._join({address: one for address, one in known.items() if address not in silent})
        with self._lock:
            overdue = self._dispatch.overdue(now)
            for cell, _ in overdue:
                _released(self._tasks.pop(cell))
            stranded = self._dispatch.stranded(now)
        for cell, reason in [*((cell, reason) for cell, reason in overdue if reason), *stranded]:
            self._ended(cell, _failed(reason))
        return known

    def _join(self, known: Mapping[str, Known]) -> None:
        """Take in the workers that are there: new ones, and those that are heard of again."""
        for address, one in known.items():
            if address in self._dispatch.places or address in self._refused:
                continue
            if address in self._members.agreed:
                with self._lock:
                    self._dispatch.arrived(self._members.agreed[address].place)
            elif address not in self._joining:
                self._joining[address] = (one, self._members.asked(address, one))
        for address, (one, task) in list(self._joining.items()):
            if address not in known:
                del self._joining[address]
            elif task.done():
                del self._joining[address]
                try:
                    text = self._members.answered(address, one, task)
                except Exception as error:
                    text = f"worker {one.name}: {type(error).__name__}: {error}"
                if text:
                    self._refused.add(address)
                    self._say(f"cluster: {text}; it gets no cell")
                else:
                    with self._lock:
                        self._dispatch.arrived(self._members.agreed[address].place)

    def _lost(self, addresses: Sequence[str], why: str) -> None:
        """Workers that get no cell for now: what they computed goes to others, or is given up after the second time."""
        for address in addresses:
            name = self._members.agreed[address].place.name
            with self._lock:
                again, failed = self._dispatch.lost(address, why)
                for one in [*again, *(one for one, _ in failed)]:
                    _released(self._tasks.pop(one))
            self._say(f"cluster: worker {name} {why}; {len(again)} of its cells go to other workers")
            for one, reason in failed:
                self._ended(one, _failed(reason))

    def _give(self) -> None:
        """Send the next cells to the workers that are free."""
        with self._lock:
            attempts = self._dispatch.assigned(time.monotonic())
            for attempt in attempts:
                cell = attempt.cell
                said = {"run": self._members.run, "cell": cell.axes(), "tolerances": self._tolerances.get(cell, {})}
                address = attempt.place.address
                task = self._cluster.submit(worker.compute, messages.written(said), address, attempt.board)
                self._tasks[cell] = task
                task.add_done_callback(partial(self._over, cell))

    def _over(self, cell: Cell, task: Task) -> None:
        """Called in any thread when a task has ended."""
        self._events.put((cell, task))

    def _unanswered(self, why: str) -> None:
        """The scheduler does not answer: after a while everything that waits for it is given up."""
        if time.monotonic() - self._answered > self._silent_seconds or self._cluster.lost:
            self._end_all(f"the scheduler at {self._cluster.address} does not answer any more: {why}")

    def _end_all(self, reason: str) -> None:
        with self._lock:
            cells = self._dispatch.drained()
            self._tasks.clear()
        for cell in cells:
            self._ended(cell, _failed(reason))

    def _say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._note(text)


def _failed(reason: str) -> Outcome:
    """The outcome of a cell that no worker computed; at which stage it was, nobody knows."""
    return Outcome(Status.ERROR, Stage.BUILD, Symptom.HARNESS, reason, reusable=False)


def _released(task: Task) -> None:
    """Tell the scheduler that nobody wants a task's result, which cancels one that did not begin."""
    with suppress(Exception):
        task.release()
