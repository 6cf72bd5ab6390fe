"""The lock of a board among the runs of this machine, and the queue of those that wait for it."""

from __future__ import annotations

import fcntl
import threading
import time
from pathlib import Path
from typing import IO

from bench_plugin.domain.recipes import recipe
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.lock_holder import Holder, holder_of, release, sign, taken

YIELD_SECONDS = 0.5  # for a run that looks at the lock every tenth of a second


class BoardLock:
    """The lock file of one board, by how it is reached: two projects may call one machine by different names.

    Who waits holds a second file locked for reading, which tells the holder that the board is wanted. Safe to use from
    several threads.
    """

    def __init__(self, board: Board, folder: Path) -> None:
        place = recipe(stage="board", kind=board.kind, reach=repr(sorted(board.settings.items())))[:12]
        self._path = folder / f"{board.name}-{place}.lock"
        self._queue = self._path.with_suffix(".queue")
        self._file: IO[bytes] | None = None
        self._waiting: IO[bytes] | None = None
        self._waiters = 0
        self._not_before = 0.0
        self._lock = threading.Lock()

    def taken(self) -> bool:
        """Take the lock without waiting, unless this run has it; returns whether it has it now. Raises OSError."""
        with self._lock:
            if self._file is not None:
                return True
            file = self._opened(self._path)
            if time.monotonic() < self._not_before or not taken(file):
                file.close()
                return False
            sign(file)
            self._file = file
            return True

    def holder(self) -> Holder:
        """The process that holds it."""
        with self._opened(self._path) as file:
            return holder_of(file)

    def wanted(self) -> bool:
        """Whether another run waits for it."""
        with self._opened(self._queue) as file:
            return not taken(file)

    def yielded(self) -> None:
        """Give it free for a run that waits, which gets the time to take it."""
        self.release()
        self._not_before = time.monotonic() + YIELD_SECONDS

    def queue(self) -> None:
        """Show that this run waits for it, until :meth:`leave`."""
        with self._lock:
            self._waiters += 1
            if self._waiting is None:
                self._waiting = self._opened(self._queue)
                fcntl.flock(self._waiting, fcntl.LOCK_SH)

    def leave(self) -> None:
        """One thread of this run waits no more."""
        with self._lock:
            self._waiters -= 1
            if self._waiters == 0 and self._waiting is not None:
                fcntl.flock(self._waiting, fcntl.LOCK_UN)
                self._waiting.close()
                self._waiting = None

    def release(self) -> None:
        """Give it free, if this run has it."""
        with self._lock:
            if self._file is not None:
                release(self._file)
                self._file.close()
                self._file = None

    def _opened(self, path: Path) -> IO[bytes]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        return path.open("r+b")
