"""The engine ``dask``: cells as tasks on the workers of a Dask cluster that somebody started (docs/scale.md).

This process decides which worker gets which cell (remote/dispatch.py), and Dask carries it there. Only this process
writes rows. The tasks' functions and messages are plain data; Dask itself sends them by pickle, so whoever reaches the
scheduler can run code on its workers: across a network that is for TLS.
"""

from __future__ import annotations

import ipaddress
import logging
import queue
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bench_plugin import __version__
from bench_plugin.domain.cell import Cell
from bench_plugin.domain.errors import BenchError, EnvironmentMissing, UsageError
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom
from bench_plugin.domain.settings import Settings
from bench_plugin.session.basis import Basis
from bench_plugin.session.engines.protocol import Begin, Note
from bench_plugin.session.engines.remote import messages, worker
from bench_plugin.session.engines.remote.arrivals import arrived
from bench_plugin.session.engines.remote.dispatch import Attempt, Dispatch, Place
from bench_plugin.session.engines.remote.groups import BOARD, wanted

LOOK_SECONDS = 0.5  # between two questions to the scheduler which workers it has
WORKERS_A_SECOND = 400  # of a large cluster the scheduler is asked less often: its answer has a kB for each worker
ANSWER_SECONDS = 10.0  # the scheduler, or a worker that has finished a cell
LEAVE_SECONDS = 5.0
# Dask's configuration, key bench-plugin.<name> (environment DASK_BENCH_PLUGIN__<NAME>): seconds, and what for.
LIMITS: Mapping[str, float] = {
    "connect": 10.0,  # until the scheduler answers
    "workers": 30.0,  # until it has a worker, and until the workers that it has answer
    "silent": 60.0,  # a worker without a heartbeat is taken for lost
    "patience": 60.0,  # a cell that no worker can compute any more is given up
    "deadline": 0.0,  # of a cell on a worker; 0: what its stages and toolchains may take
}


def prepared(basis: Basis, note: Note, cells: Sequence[Cell]) -> Begin:
    """Connect to the scheduler, and agree with its workers on what is computed.

    Raises EnvironmentMissing without the package distributed, UsageError where no scheduler or no worker answers, and
    where a worker would not compute what is meant.
    """
    cluster = Cluster(basis.settings.scheduler)
    try:
        _warn(cluster, note)
        agreed = Agreed(cluster, basis, cells)
        agreed.with_all(note)
    except BaseException:
        cluster.close()
        raise
    return lambda settings: DaskEngine(basis, settings, note, cluster, agreed)


class Cluster:
    """The connection to a scheduler; every question has an end. It replaces no handler of a signal.

    Raises EnvironmentMissing and UsageError.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        with _quiet():
            try:
                from distributed import Client
            except ImportError as error:
                raise EnvironmentMissing(
                    f"--bench-engine dask: {error}; it comes with: pip install 'bench-plugin[dask]'"
                ) from error
            try:
                self.client = Client(address, timeout=self.limit("connect"), set_as_default=False, name="bench-plugin")
            except Exception as error:  # of the network, of TLS, of an address of unknown form
                raise UsageError(
                    f"--bench-scheduler: no Dask scheduler answers at {address} within {self.limit('connect'):g} s "
                    f"({type(error).__name__}: {error}); start one with `dask scheduler`, and see docs/scale.md"
                ) from error

    def limit(self, name: str) -> float:
        """Seconds of :data:`LIMITS`. Raises UsageError for a value that is no time."""
        import dask
        from dask.utils import parse_timedelta

        value = dask.config.get(f"bench-plugin.{name}", LIMITS[name])
        try:
            return float(parse_timedelta(value))
        except (TypeError, ValueError, KeyError):
            raise UsageError(f"Dask's configuration: bench-plugin.{name} is {value!r}, which is no time") from None

    def workers(self) -> Mapping[str, Mapping[str, Any]]:
        """What the scheduler knows of its workers, by address. Raises OSError where it does not answer."""
        if self.client.status not in ("running", "connecting"):
            raise OSError(f"the connection is {self.client.status}")
        try:
            found = self.client.sync(self.client.scheduler.identity, n_workers=-1, callback_timeout=ANSWER_SECONDS)
        except Exception as error:
            raise OSError(f"{type(error).__name__}: {error}") from error
        members: Mapping[str, Mapping[str, Any]] = found["workers"]
        return members

    def worker_ttl(self) -> Any:
        """After which time the scheduler drops a worker without a heartbeat; None where it never does."""
        import dask

        return self.client.run_on_scheduler(dask.config.get, "distributed.scheduler.worker-ttl", None)

    def submit(self, function: Callable[..., Any], text: str, address: str, board: str = "") -> Any:
        """A task for one worker, which has a board to itself where one is named; the task's future."""
        return self.client.submit(
            function, text, pure=False, workers=[address], allow_other_workers=False, retries=0,
            resources={board: 1} if board else None,
        )  # fmt: skip

    def leave(self, run: str, addresses: Sequence[str]) -> None:
        """Tell workers that the run is over; a worker that does not answer is not waited for."""

        def told() -> None:
            with suppress(Exception):
                self.client.run(worker.leave, run, workers=list(addresses), on_error="ignore")

        thread = threading.Thread(target=told, name="bench-dask-leave", daemon=True)
        thread.start()
        thread.join(LEAVE_SECONDS)

    def close(self) -> None:
        """End the connection."""
        with _quiet(), suppress(Exception):
            self.client.close(timeout=LEAVE_SECONDS)


@dataclass(frozen=True)
class _Member:
    """A worker that has agreed: its place, and the digest of its machine's facts."""

    place: Place
    host: str


class Agreed:
    """The workers of a cluster that compute what this run means; they are asked once each."""

    def __init__(self, cluster: Cluster, basis: Basis, cells: Sequence[Cell]) -> None:
        self.run = uuid.uuid4().hex[:12]
        self.members: dict[str, _Member] = {}
        self._cluster = cluster
        self._toolchains = list(dict.fromkeys(basis.keys.toolchains(cells)))
        self._said = {
            "run": self.run, "version": __version__, "root": str(basis.settings.root),
            "settings": messages.settings_data(basis.settings), "toolchains": self._toolchains,
            "agreement": messages.agreement(basis, self._toolchains),
        }  # fmt: skip
        self._boards: set[str] = set()  # that any worker has

    def with_all(self, note: Note) -> None:
        """Ask every worker that is there. Raises UsageError where there is none, and for those that refuse."""
        until = time.monotonic() + self._cluster.limit("workers")
        known = self._known()
        while not known and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
            known = self._known()
        if not known:
            raise UsageError(
                f"--bench-scheduler: the scheduler at {self._cluster.address} has no worker; start some with "
                f"`dask worker {self._cluster.address}`, and see docs/scale.md"
            )
        asked = {address: self.asked(address, one) for address, one in known.items()}
        refused, silent = [], []
        for address, future in asked.items():
            try:
                future.result(timeout=max(1.0, until - time.monotonic()))
                text = self.answered(address, known[address], future)
            except Exception as error:
                silent.append(f"{known[address]['name']} ({type(error).__name__}: {error})")
                continue
            if text:
                refused.append(text)
        if refused:
            raise UsageError(f"--bench-engine dask: workers do not compute what this run means: {'; '.join(refused)}")
        if not self.members:
            raise UsageError(f"--bench-engine dask: no worker can take a cell: {'; '.join(silent)}")
        if silent:
            note(f"dask: these workers did not answer and get no cell for now: {'; '.join(silent)}")
        threads = sum(one.place.threads for one in self.members.values())
        nodes = len({one.place.node for one in self.members.values()})
        note(f"dask: {len(self.members)} workers on {nodes} machines, {threads} cells side by side")

    def asked(self, address: str, known: Mapping[str, Any]) -> Any:
        """The future of a worker's answer."""
        own = _boards(known)
        self._boards |= own
        elsewhere = [name.removeprefix(BOARD) for name in sorted(self._boards - own)]
        said = {
            **self._said, "folder": known["local_directory"], "threads": known["nthreads"], "elsewhere": elsewhere
        }  # fmt: skip
        return self._cluster.submit(worker.join, messages.written(said), address)

    def answered(self, address: str, known: Mapping[str, Any], future: Any) -> str:
        """Take a worker's answer; why it refuses, and empty where it is a member now. Raises what its task raised."""
        said = messages.read(future.result(timeout=ANSWER_SECONDS))
        if said["refused"]:
            return f"worker {known['name']}: {said['refused']}"
        name = str(known["name"])
        place = Place(
            address, name if name != address else said["node"], said["node"], int(known["nthreads"]),
            frozenset(known["resources"]),
        )  # fmt: skip
        self.members[address] = _Member(place, said["host"])
        return ""

    def _known(self) -> Mapping[str, Mapping[str, Any]]:
        try:
            known = self._cluster.workers()
        except OSError as error:
            raise UsageError(f"--bench-scheduler: {self._cluster.address} does not answer: {error}") from error
        self._boards |= {name for one in known.values() for name in _boards(one)}
        return known


class DaskEngine:
    """Computes the cells of a run on the workers of a cluster; a thread of its own deals with them."""

    def __init__(self, basis: Basis, settings: Settings, note: Note, cluster: Cluster, agreed: Agreed) -> None:
        self._basis = basis
        self._folder = settings.results.parent
        self._note = note
        self._cluster = cluster
        self._agreed = agreed
        self._dispatch = Dispatch(cluster.limit("patience"))
        self._silent_seconds = cluster.limit("silent")
        self._deadline = cluster.limit("deadline")
        self._tolerances: dict[Cell, Mapping[str, float]] = {}
        self._futures: dict[Cell, Future[Outcome]] = {}
        self._divided: dict[Cell, tuple[Cell, ...]] = {}
        self._tasks: dict[Cell, Any] = {}
        self._joining: dict[str, tuple[Mapping[str, Any], Any]] = {}
        self._heard: dict[str, tuple[float, float]] = {}  # by address: its last heartbeat, and when that was new here
        self._refused: set[str] = set()
        self._answered = time.monotonic()
        self._said: set[str] = set()
        self._lock = threading.Lock()  # guards dispatch, futures and tasks
        self._events: queue.SimpleQueue[tuple[Cell, Any] | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="bench-dask", daemon=True)
        for member in agreed.members.values():
            self._dispatch.arrived(member.place)

    def tolerances(self, overrides: Mapping[Cell, Mapping[str, float]]) -> None:
        """Set the tolerances of cells whose tests have a marker, before :meth:`plan`."""
        self._tolerances.update(overrides)
        for cell, values in overrides.items():
            self._tolerances.update(dict.fromkeys(self._basis.keys.all_boards.divided(cell), values))

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
            self._cluster.leave(self._agreed.run, addresses)
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
            for cell, task in self._taken(max(0.0, look - time.monotonic())):
                self._take(cell, task)
            try:
                if time.monotonic() >= look:
                    workers = len(self._look())
                    look = time.monotonic() + max(LOOK_SECONDS, workers / WORKERS_A_SECOND)
                self._give()
            except OSError as error:
                look = time.monotonic() + LOOK_SECONDS
                self._unanswered(str(error))
            except Exception as error:  # this thread alone can end what the tests wait for
                self._end_all(f"the benchmark itself failed: {type(error).__name__}: {error}")
                raise

    def _taken(self, seconds: float) -> Iterator[tuple[Cell, Any]]:
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

    def _take(self, cell: Cell, task: Any) -> None:
        """The outcome of a task that ended. Other tasks than the cell's own are of attempts that were given up."""
        with self._lock:
            if self._tasks.get(cell) is not task:
                return
            attempt = self._dispatch.running[cell]
        try:
            answer = task.result(timeout=ANSWER_SECONDS)
        except TimeoutError:
            return  # its worker was lost with the answer, or hangs; both are noticed by other signs
        except Exception as error:
            self._again(cell, f"lost the task: {type(error).__name__}: {error}")
            return
        with self._lock:
            del self._tasks[cell]
        _released(task)
        if not answer["text"]:
            self._forgotten(cell, attempt)
            return
        member = self._agreed.members[attempt.place.address]
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
            self._agreed.members.pop(attempt.place.address, None)

    def _ended(self, cell: Cell, outcome: Outcome) -> None:
        """Give an outcome to whom waits for it, and join those of several boards."""
        with self._lock:
            self._dispatch.done(cell)
            future = self._futures[cell]
            if future.set_running_or_notify_cancel():
                future.set_result(outcome)
            whole = [one for one, parts in self._divided.items() if cell in parts]
            whole = [one for one in whole if all(self._futures[part].done() for part in self._divided[one])]
        for one in whole:
            outcomes = {part: self._futures[part].result() for part in self._divided[one]}
            self._futures[one].set_result(self._basis.keys.all_boards.joined(one, outcomes))

    def _look(self) -> Mapping[str, Any]:
        """Ask the scheduler for its workers: new ones join, others are lost, and cells that nobody can do are given up.

        Raises OSError.
        """
        known = self._cluster.workers()
        now = self._answered = time.monotonic()
        silent = set()
        for address, one in known.items():
            beat = float(one["last_seen"])
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

    def _join(self, known: Mapping[str, Mapping[str, Any]]) -> None:
        """Take in the workers that are there: new ones, and those that are heard of again."""
        for address, one in known.items():
            if address in self._dispatch.places or address in self._refused:
                continue
            if address in self._agreed.members:
                with self._lock:
                    self._dispatch.arrived(self._agreed.members[address].place)
            elif address not in self._joining:
                self._joining[address] = (one, self._agreed.asked(address, one))
        for address, (one, task) in list(self._joining.items()):
            if address not in known:
                del self._joining[address]
            elif task.done():
                del self._joining[address]
                try:
                    text = self._agreed.answered(address, one, task)
                except Exception as error:
                    text = f"worker {one['name']}: {type(error).__name__}: {error}"
                if text:
                    self._refused.add(address)
                    self._say(f"dask: {text}; it gets no cell")
                else:
                    with self._lock:
                        self._dispatch.arrived(self._agreed.members[address].place)

    def _lost(self, addresses: Sequence[str], why: str) -> None:
        """Workers that get no cell for now: what they computed goes to others, or is given up after the second time."""
        for address in addresses:
            name = self._agreed.members[address].place.name
            with self._lock:
                again, failed = self._dispatch.lost(address, why)
                for one in [*again, *(one for one, _ in failed)]:
                    _released(self._tasks.pop(one))
            self._say(f"dask: worker {name} {why}; {len(again)} of its cells go to other workers")
            for one, reason in failed:
                self._ended(one, _failed(reason))

    def _give(self) -> None:
        """Send the next cells to the workers that are free."""
        with self._lock:
            attempts = self._dispatch.assigned(time.monotonic())
            for attempt in attempts:
                cell = attempt.cell
                said = {"run": self._agreed.run, "cell": cell.axes(), "tolerances": self._tolerances.get(cell, {})}
                address = attempt.place.address
                task = self._cluster.submit(worker.compute, messages.written(said), address, attempt.board)
                self._tasks[cell] = task
                task.add_done_callback(lambda task, cell=cell: self._events.put((cell, task)))

    def _unanswered(self, why: str) -> None:
        """The scheduler does not answer: after a while everything that waits for it is given up."""
        if time.monotonic() - self._answered > self._silent_seconds or self._cluster.client.status == "closed":
            self._end_all(f"the Dask scheduler at {self._cluster.address} does not answer any more: {why}")

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


def _boards(known: Mapping[str, Any]) -> set[str]:
    return {name for name in known["resources"] if name.startswith(BOARD)}


def _released(task: Any) -> None:
    """Tell the scheduler that nobody wants a task's result, which cancels one that did not begin."""
    with suppress(Exception):
        task.release()


def _warn(cluster: Cluster, note: Note) -> None:
    """Say what of a cluster will cost a night."""
    parts = urlsplit(cluster.address)
    with suppress(ValueError):
        if parts.scheme == "tcp" and not _loopback(parts.hostname or ""):
            note(
                f"dask: {cluster.address} is neither encrypted nor authenticated, and whoever reaches it can run code "
                "on its workers; docs/scale.md shows the set-up with TLS (tls://)"
            )
    try:
        ttl = cluster.worker_ttl()
    except Exception as error:
        raise UsageError(f"--bench-scheduler: {cluster.address} does not answer: {error}") from error
    if ttl is None:
        note(
            "dask: the scheduler never drops a frozen worker; start it with DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL=60s"
        )


def _loopback(host: str) -> bool:
    return host == "localhost" or ipaddress.ip_address(host).is_loopback


@contextmanager
def _quiet() -> Iterator[None]:
    """Import and connect without what concerns nobody here.

    A project's filters may turn warnings into errors. Dask's loggers get a handler for the stderr of the moment of the
    import, which is pytest's, and closed later.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    for name in ("distributed", "distributed.client", "distributed.gc", "bokeh", "tornado", "tornado.application"):
        logger = logging.getLogger(name)
        for handler in [one for one in logger.handlers if type(one) is logging.StreamHandler]:
            logger.removeHandler(handler)
            logger.propagate = True
