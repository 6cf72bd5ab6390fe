"""Who may use which board: one lease at a time on each, in this run and among the runs of this machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.leasing.candidates import candidates
from bench_plugin.reach.boards.leasing.lock import BoardLock
from bench_plugin.reach.boards.reach import Reach
from bench_plugin.reach.processes.leased_agent import AgentFailure

LOOK_SECONDS = 0.1  # between two looks at a lock that another run holds


class BoardPool:
    """Gives the boards of a run to one stage after the other; safe to use from several threads.

    Boards of one target serve one queue. A board of hardware is locked against the other runs of this machine by a file
    in the folder ``locks``; a run keeps it from lease to lease until another run waits for it. ``idle`` is called with
    the name of a board that is given back, to end its agent. ``note`` is told for whom a run waits.
    """

    def __init__(
        self, boards: Mapping[str, Reach], locks: Path, *, idle: Callable[[str], None] = lambda name: None,
        note: Callable[[str], None] = lambda text: None,
    ) -> None:  # fmt: skip
        self._boards = {name: reach.board for name, reach in boards.items()}
        self._reaches = boards
        self._locks = {name: BoardLock(board, locks) for name, board in self._boards.items() if not board.emulated}
        self._idle = idle
        self._note = note
        self._busy: set[str] = set()
        self._lost: dict[str, str] = {}  # by board: what it was lost by first
        self._lacks: dict[str, str] = {}  # by board: what this machine lacks to reach it, once it was asked
        self._said: set[str] = set()
        self._changed = threading.Condition()
        self._closed = False

    def __getitem__(self, name: str) -> Board:
        """The board of that name."""
        return self._boards[name]

    @contextmanager
    def taken(self, name: str, *, programs: bool, only: str = "") -> Iterator[Board]:
        """A free board of the target ``name``, or the board ``name``, for this thread alone, as soon as one is free.

        ``programs``: it must run compiled programs, else agents in Python. ``only``: it must be the board of that name,
        where stages must not change the board. Raises AgentFailure: with symptom
        ``board-lost`` where all such boards were lost or another run does not give one free, else ``harness``.
        """
        board = self._take(name, programs, only)
        try:
            yield board
        finally:
            self._put_back(board)

    def latch(self, board: Board, cause: str) -> None:
        """Use a lost board no more in this run; ``cause`` is what its other cells say. The caller holds the board."""
        with self._changed:
            self._say(f"{cause}; it is not used again in this run")
            self._lost.setdefault(board.name, cause)
        self._idle(board.name)
        if board.name in self._locks:
            self._locks[board.name].release()

    def others(self, name: str, *, programs: bool) -> bool:
        """Whether a board is left that :meth:`taken` may give."""
        with self._changed:
            return bool(self._left(name, programs))

    def close(self) -> None:
        """Give every board free; whoever waits for one is told that the run is ending."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for lock in self._locks.values():
            lock.release()

    def _fitting(self, name: str, programs: bool) -> list[str]:
        """The boards that can be reached from here, of the kind that is wanted. Raises AgentFailure for none."""
        found = [one for one in candidates(self._boards, name) if self._reaches[one].programs == programs]
        ready = [one for one in found if not self._missing(one)]
        if not ready:
            kind = "compiled programs" if programs else "agents in Python"
            why = "; ".join(self._missing(one) for one in found) or f"no board of {name} runs {kind}"
            raise AgentFailure("harness", why)
        return ready

    def _missing(self, name: str) -> str:
        if name not in self._lacks:
            self._lacks[name] = self._reaches[name].missing()
        return self._lacks[name]

    def _left(self, name: str, programs: bool) -> list[str]:
        """The boards that are not lost: those of hardware if there are any, else the first of the emulators.

        Two emulators count instructions differently, so cells do not go to whichever is free.
        """
        left = [one for one in self._fitting(name, programs) if one not in self._lost]
        return [one for one in left if not self._boards[one].emulated] or left[:1]

    def _take(self, name: str, programs: bool, only: str) -> Board:
        waiting = _Waiting()
        try:
            with self._changed:
                while True:
                    if self._closed:
                        raise AgentFailure("harness", "the run is ending")
                    left = [one for one in self._left(name, programs) if only in ("", one)]
                    if not left:
                        raise AgentFailure("board-lost", self._cause(name, programs))
                    free = [one for one in left if one not in self._busy]
                    found = next((one for one in free if one not in self._locks or self._locks[one].taken()), None)
                    if found is not None:
                        self._busy.add(found)
                        return self._boards[found]
                    if free:
                        self._wait_for_others(free, waiting)
                    self._changed.wait(LOOK_SECONDS if free else None)
        finally:
            waiting.end()

    def _wait_for_others(self, free: list[str], waiting: _Waiting) -> None:
        """Stand in the queue of a board that another run holds; one that it holds for too long counts as lost."""
        name, lock = free[0], self._locks[free[0]]
        holder = str(lock.holder())
        seconds = self._boards[name].lease_seconds
        if waiting.lock is not lock or holder != waiting.holder:
            waiting.begin(lock, holder, seconds)
            self._say(f"board {name} is held by {holder}; this run waits for it")
        elif time.monotonic() > waiting.until:
            cause = f"board {name} is held by {holder}, which did not give it free within {seconds:g} s"
            self._lost.setdefault(name, cause)

    def _say(self, text: str) -> None:
        """Tell the user, once. The caller holds the condition."""
        if text not in self._said:
            self._said.add(text)
            self._note(text)

    def _cause(self, name: str, programs: bool) -> str:
        """What the boards of a name were lost by first."""
        return "; ".join(dict.fromkeys(self._lost[one] for one in self._fitting(name, programs)))

    def _put_back(self, board: Board) -> None:
        lock = self._locks.get(board.name)
        if lock is not None and lock.wanted():
            self._idle(board.name)
            lock.yielded()
        with self._changed:
            self._busy.discard(board.name)
            self._changed.notify_all()


class _Waiting:
    """The wait of one thread for a board that another run holds."""

    def __init__(self) -> None:
        self.lock: BoardLock | None = None
        self.holder = ""
        self.until = 0.0

    def begin(self, lock: BoardLock, holder: str, seconds: float) -> None:
        """Stand in the queue of a lock, whose holder has so many seconds from now."""
        if self.lock is not lock:
            self.end()
            lock.queue()
        self.lock, self.holder, self.until = lock, holder, time.monotonic() + seconds

    def end(self) -> None:
        """Leave the queue."""
        if self.lock is not None:
            self.lock.leave()
        self.lock = None
