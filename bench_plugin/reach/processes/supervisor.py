"""The pool of agents, long-running worker processes: leased, and replaced when lost or grown."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench_plugin.agent.channel import Channel
from bench_plugin.domain.errors import BenchError
from bench_plugin.domain.paths import cache_root
from bench_plugin.reach.boards.leasing.place import ran_here
from bench_plugin.reach.boards.leasing.pool import BoardPool
from bench_plugin.reach.boards.reach import Reach
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.places import Place, Room
from bench_plugin.reach.processes.client import Agent
from bench_plugin.reach.processes.given_files import GivenFiles
from bench_plugin.reach.processes.leased_agent import START_SECONDS, AgentFailure, LeasedAgent, Limits, Source
from bench_plugin.reach.processes.memory import processor_seconds_below, resident_below
from bench_plugin.reach.processes.nursery import Child, GuardianGone, Nursery
from bench_plugin.reach.processes.scratch import make_scratch, sweep
from bench_plugin.reach.processes.variables import for_agents
from bench_plugin.reach.processes.workplace import Workplace
from bench_plugin.reach.processes.zipapp import build_agent

RESET = Limits(seconds=5.0, memory_bytes=0)
LOADING = Limits(seconds=60.0, memory_bytes=0)  # an adapter's file, with what it imports
GROWN = 3  # an agent with more than a third of its memory limit after a lease is replaced
ENDED_SECONDS = 2.0
# Threads that spin while they wait for work take the cores of other agents: measured, a convolutional network took
# 1.9 s instead of 0.3 s beside one other agent. An agent that is timed works alone and does without them. OpenBLAS
# waits for its threads by yielding, whatever it is told (``_shared``).
WAITING = {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0", "OPENBLAS_THREAD_TIMEOUT": "4"}


def _shared(at_once: int) -> dict[str, str]:
    """Variables of an agent beside ``at_once`` - 1 others: NumPy's OpenBLAS gets its part of the cores.

    Two processes that compute products on two cores took 3.4 s with two threads each, and 2.0 s with one, beside two
    busy ones 6.3 s and 4.0 s. The products had the same bits (benchmarks/shared_cores.py).
    """
    return {**WAITING, "OPENBLAS_NUM_THREADS": str(max(1, len(os.sched_getaffinity(0)) // at_once))}


class LocalProcess:
    """An agent as a child of the guardian, on this machine."""

    shares_files = True

    def __init__(self, nursery: Nursery, child: Child) -> None:
        self._nursery = nursery
        self._child = child

    def resident(self) -> int:
        """Resident bytes of the process tree: of the agent, of what it started, and of what was orphaned by that."""
        return resident_below(self._child.pid)

    def spent(self) -> float | None:
        """Seconds of processor time of the same processes, also of those among them that ended."""
        return processor_seconds_below(self._child.pid)

    def kill(self) -> int | None:
        """Kill it with its descendants and orphans; returns its status as of waitpid(2)."""
        self._nursery.kill(self._child)
        return self._child.status

    def ended(self) -> int | None:
        """Its status as of waitpid(2) if it ends within a moment, else None.

        Raises GuardianGone where the guardian was killed, which ends every agent.
        """
        self._child.ended.wait(ENDED_SECONDS)
        guardian = self._child.guardian
        if self._child.status is None and not guardian.alive:
            raise GuardianGone(guardian.process.poll())
        return self._child.status

    @property
    def gone(self) -> bool:
        """Whether it is known to have ended."""
        return self._child.ended.is_set() or not self._child.guardian.alive


class AgentPool:
    """Starts and leases agents, below a guardian that it starts. Raises BenchError when that cannot be started.

    ``environments`` gives the Python executable of a toolchain, ``variables`` names of environment variables that
    agents get beside those of :mod:`bench_plugin.reach.processes.variables`. An agent has ``start_seconds`` to say
    hello; a toolchain whose agent did not do that is not tried again in this run. ``note`` is called with a sentence
    for the user when an agent that could not drop its models was replaced. ``boards`` gives what starts the agents of a
    board (reach/boards/reach.py), ``toolchains`` what is shipped to it (default: the plugin's own). ``at_once`` is the
    number of agents that may work at the same time on this machine, those of other pools included. ``room`` says when
    agents that nobody uses end.
    """

    def __init__(
        self,
        environments: Callable[[str], Path],
        folder: Path,
        adapters: Callable[[str], Sequence[Source]],
        scratch: Path | None = None,
        variables: Iterable[str] = (),
        *,
        start_seconds: float = START_SECONDS,
        note: Callable[[str], None] = lambda text: None,
        boards: Mapping[str, Reach] | None = None,
        toolchains: Toolchains | None = None,
        at_once: int = 1,
        room: Room | None = None,
    ) -> None:
        self._toolchains = toolchains
        self._shared = _shared(at_once)
        self._room = room or Room()
        self._reaches = boards or {}
        self.boards = BoardPool(self._reaches, cache_root() / "boards" / "locks", idle=self._end_on_board, note=note)
        self._environments = environments
        self._logs = folder
        self._adapters = adapters
        self._variables = tuple(variables)
        base = scratch or cache_root() / "scratch"
        sweep(base)
        self._scratch, self._lock_of_scratch = make_scratch(base)
        try:
            self._nursery = Nursery(self._scratch, held=[self._lock_of_scratch])
        except BenchError:
            self._remove_scratch()
            raise
        self._places: dict[tuple[str, str], Place] = {}
        self._on_boards: dict[str, Place] = {}
        self._lock = threading.Lock()
        self._in_scratch = threading.Lock()  # held where the folder of an agent is made, so that close removes them all
        self._count = 0
        self._closed = False
        self._start_seconds = start_seconds
        self.note = note
        self._silent: dict[str, AgentFailure] = {}  # by toolchain: what the first agent that said nothing failed with
        self._owner = os.getpid()

    @contextmanager
    def lease(
        self, toolchain: str, *, role: str = "", fresh: bool = False, affinity: str = "", board: str = "",
        alone: bool = False,
    ) -> Iterator[LeasedAgent]:  # fmt: skip
        """Lease the toolchain's agent exclusively; ``fresh`` starts a new one unless it has served no call yet.

        An agent keeps its models in memory for leases with the same ``affinity`` and drops them for another. Agents of
        different ``role`` are different processes, so that an artefact runs in another one than compiled it. With the
        name of a ``board`` the agent is that of the board, which the caller has taken from the pool ``boards``.
        One that works ``alone`` on this machine may let its threads spin while they wait; its role is no other's.
        Raises EnvironmentMissing when the toolchain cannot be installed, AgentFailure when the agent does not start.
        """
        with self._lock:
            place = (
                self._on_boards.setdefault(board, Place())
                if board
                else self._places.setdefault((toolchain, role), Place())
            )
        with place.lock:
            if board and place.toolchain != toolchain:
                place.end()
            place.toolchain, place.board = toolchain, board
            agent = self._ready(toolchain, place, fresh=fresh, affinity=affinity, alone=alone)
            try:
                yield agent
            finally:
                place.affinity, place.used = affinity, time.monotonic()
                limit = agent.memory_limit
                if self._closed or (limit and agent.resident() > limit / GROWN):
                    agent.close()
                if agent.lost:
                    place.agent = None

    def prepare(self, toolchain: str, *, role: str, adapter: str) -> None:
        """Start the toolchain's agent of this role in the background, unless it runs, and send it the adapter.

        A lease waits for it. If it cannot be started, the lease raises the error.
        """
        with self._lock:
            place = self._places.setdefault((toolchain, role), Place())
        if place.lock.acquire(blocking=False):
            self._preparing(toolchain, place, adapter, alone=False)

    def prepare_all(self, toolchain: str, *, roles: Sequence[str], adapter: str) -> None:
        """Start an agent for each of these roles, side by side, and wait until they imported what the adapter declares.

        They work alone on this machine, one after the other. If one cannot be started, its lease raises the error.
        """
        with self._lock:
            places = [self._places.setdefault((toolchain, role), Place()) for role in roles]
        threads = [
            self._preparing(toolchain, place, adapter, alone=True)
            for place in places if place.lock.acquire(blocking=False)
        ]  # fmt: skip
        for thread in threads:
            thread.join()

    def end_prepared(self, toolchain: str, *, roles: Sequence[str]) -> None:
        """End the agents of these roles that were prepared and not leased."""
        with self._lock:
            places = [self._places.get((toolchain, role)) for role in roles]
        for place in places:
            if place is not None and place.lock.acquire(blocking=False):
                place.end()
                place.lock.release()

    def _preparing(self, toolchain: str, place: Place, adapter: str, *, alone: bool) -> threading.Thread:
        """The started thread that starts the agent of a place, whose lock the caller took."""
        thread = threading.Thread(
            target=self._prepared, args=(toolchain, place, adapter, alone), name="bench-prepare", daemon=True
        )
        thread.start()
        return thread

    def _prepared(self, toolchain: str, place: Place, adapter: str, alone: bool) -> None:
        """Start the agent of a place; the caller holds its lock, which is released here."""
        try:
            if place.agent is None:
                place.agent = self._start(toolchain, alone=alone)
                place.agent.load(adapter, LOADING)
                if alone:  # an agent answers when its imports are done, and nothing may compute beside a timed one
                    place.agent.versions(adapter, LOADING)
                if self._closed:
                    place.agent.close()
        except BenchError:  # the lease tries again
            pass
        finally:
            place.used = time.monotonic()
            place.lock.release()

    @property
    def ending(self) -> bool:
        """Whether the run is over, so that no agent starts any more."""
        return self._closed

    def busy(self, toolchain: str, role: str = "") -> bool:
        """Whether the toolchain's agent is leased."""
        with self._lock:
            place = self._places.get((toolchain, role))
        return place is not None and place.lock.locked()

    def close(self) -> None:
        """End every agent and the guardian, which removes the scratch folder.

        In a process that the owner of the pool forked it does nothing: the agents are the owner's.
        """
        if os.getpid() != self._owner:
            return
        with self._in_scratch:  # the guardian removes the folder: nobody may be writing into it by then
            self._closed = True
        for board in self._reaches.values():
            board.release()
        self._nursery.close()
        self.boards.close()
        with self._lock:
            places = [*self._places.values(), *self._on_boards.values()]
        for place in places:
            if place.lock.acquire(blocking=False):  # the holder of the lease closes it when it finds the agent gone
                place.end()
                place.lock.release()
        with self._in_scratch:
            self._remove_scratch()

    def _remove_scratch(self) -> None:
        shutil.rmtree(self._scratch, ignore_errors=True)
        if self._lock_of_scratch >= 0:
            os.close(self._lock_of_scratch)
        self._lock_of_scratch = -1

    def _ready(self, toolchain: str, place: Place, *, fresh: bool, affinity: str, alone: bool = False) -> LeasedAgent:
        agent = place.agent
        if agent is not None and (agent.lost or (fresh and agent.calls) or agent.ended_idle()):
            agent.close()
            agent = None
        if agent is not None and (not affinity or affinity != place.affinity) and not agent.clean:
            try:
                agent.reset(RESET)
            except AgentFailure as error:  # a failed reset is no result of the next cell, which gets a new agent
                after = f" after {place.affinity}" if place.affinity else ""
                self.note(f"an agent of toolchain {toolchain} was replaced: its reset(){after} failed: {error}")
                agent.close()
                agent = None
        place.agent = None
        place.agent = agent or (
            self._start_on(place.board, toolchain) if place.board else self._start(toolchain, alone=alone)
        )
        return place.agent

    def _start_on(self, board: str, toolchain: str) -> LeasedAgent:
        """An agent of a board."""
        number = self._next_number()
        folder = self._folder(f"{board}-{number}")
        self._logs.mkdir(parents=True, exist_ok=True)
        place = Workplace(
            folder, self._scratch / "results", self._logs / f"{board}-{os.getpid()}-{number}.log", self._nursery,
            self._adapters, self._environments, for_agents(os.environ, self._variables).variables, self._start_seconds,
            self._toolchains or Toolchains(),
        )  # fmt: skip
        reach = self._reaches[board]
        agent = reach.acquire(toolchain, place)
        if why := ran_here(reach.board, agent.hello):
            agent.close()
            raise AgentFailure("harness", why, log=str(place.log))
        return agent

    def _end_on_board(self, board: str) -> None:
        """End the agent of a board that nobody has leased."""
        with self._lock:
            place = self._on_boards.get(board)
        if place is not None:
            place.end()

    def _next_number(self) -> int:
        """The number of the next agent."""
        with self._lock:
            self._count += 1
            return self._count

    @contextmanager
    def _scratch_in_use(self) -> Iterator[Path]:
        """The scratch folder, which is not removed meanwhile. Raises AgentFailure when the run is over."""
        with self._in_scratch:
            if self._closed:
                raise AgentFailure("harness", "the run is ending")
            yield self._scratch

    def _folder(self, name: str) -> Path:
        """A new folder for an agent."""
        with self._scratch_in_use() as scratch:
            folder = scratch / name
            folder.mkdir(parents=True)
        return folder

    def _agent_file(self) -> Path:
        """The zip application that an agent runs."""
        with self._scratch_in_use() as scratch:
            return build_agent(scratch, compiled=True)

    def _start(self, toolchain: str, *, alone: bool = False) -> Agent:
        if self._closed:
            raise AgentFailure("harness", "the run is ending")
        if toolchain in self._silent:
            first = self._silent[toolchain]
            raise AgentFailure("harness", f"{first} (not tried again)", detail=first.detail, log=first.log)
        python = self._environments(toolchain)
        with self._lock:
            places = list(self._places.values())
        self._room.make(places)
        number = self._next_number()
        folder = self._folder(f"{toolchain}-{number}")
        self._logs.mkdir(parents=True, exist_ok=True)
        log = self._logs / f"{toolchain}-{os.getpid()}-{number}.log"
        pyz = self._agent_file()
        ours, theirs = socket.socketpair()
        argv = [str(python), "-I", "-u", "-X", "faulthandler", str(pyz), "--fd", "{fd}", "--folder", str(folder)]
        kept, remarks = for_agents(os.environ, self._variables)
        if remarks:
            with log.open("a", encoding="utf-8") as file:
                file.writelines(f"bench: {remark}\n" for remark in remarks)
        environment = {**({} if alone else self._shared), **kept, "TMPDIR": str(folder), "PYTHONFAULTHANDLER": "1"}
        try:
            child = self._nursery.spawn(argv, environment, folder, theirs, log)
        except BenchError as error:
            ours.close()
            raise AgentFailure("harness", str(error), log=str(log)) from error
        results = self._scratch / "results"
        agent = Agent(
            Channel(ours), LocalProcess(self._nursery, child), log, self._adapters, results, folder,
            given=GivenFiles(folder / "given"),
        )  # fmt: skip
        began = time.monotonic()
        try:
            agent.greet(self._start_seconds)
        except AgentFailure as error:
            failure = AgentFailure(
                error.symptom, f"toolchain {toolchain}: {python}: {error}", detail=error.detail, log=error.log
            )
            if time.monotonic() - began >= self._start_seconds:  # every cell would wait as long for the same
                self._silent[toolchain] = failure
            raise failure from error
        return agent
