"""The locks of recipes: one run makes a stage while the others wait for it, say for whom, and not without end."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bench_plugin.domain.errors import BenchError
from bench_plugin.pipeline.cache.leases import opened_lock

SHORTEST, LONGEST = 0.001, 0.05  # seconds between two looks at a lock
COMMAND = 200  # characters of a command line that a message shows


class LockCancelled(BenchError):
    """The run ends while it waits for a stage that another run makes."""


@dataclass(frozen=True)
class Patience:
    """How many seconds a run waits for the lock of a recipe, before it makes the stage itself.

    After ``say`` it names the holder. ``stopped`` is for a holder that is stopped (SIGSTOP, Ctrl-Z), ``longest`` for
    any other, ``ending`` for a lock that is asked for while the run ends.
    """

    say: float = 2.0
    stopped: float = 10.0
    longest: float = 900.0
    ending: float = 1.0


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock."""

    pid: int
    command: str

    @property
    def stopped(self) -> bool:
        """Whether it is stopped, by a signal or by a debugger (proc(5), /proc/PID/stat)."""
        try:
            text = Path(f"/proc/{self.pid}/stat").read_text("utf-8", "replace")
        except OSError:
            return False  # it has ended in this moment, or runs in another container
        return text.rpartition(")")[2].split()[0] in ("T", "t")

    def __str__(self) -> str:
        state = ", which is stopped" if self.stopped else ""
        return f"process {self.pid} ({self.command}){state}" if self.pid else "another process"


class RecipeLocks:
    """The locks of one run. ``note`` is called with a sentence for the user when another run is waited for."""

    def __init__(self, folder: Path, *, note: Callable[[str], None], patience: Patience) -> None:
        self._folder = folder
        self._note = note
        self._patience = patience
        self._ending = threading.Event()

    @contextmanager
    def held(self, key: str, what: str, failed: Callable[[OSError], None]) -> Iterator[None]:
        """Hold the lock of a recipe, or go on without it: when the patience is at its end, or the folder fails.

        ``failed`` is called with the error then. Raises LockCancelled when :meth:`cancel` is called meanwhile.
        """
        with ExitStack() as stack:
            try:
                file = stack.enter_context(opened_lock(self._folder / f"{key[:2]}.{key[:16]}"))
                if self._acquired(file, what):
                    stack.callback(_release, file)
                    _sign(file)
            except OSError as error:
                failed(error)  # nothing can be stored in this folder, so two runs cannot share a result either
            yield

    def cancel(self) -> None:
        """End the waiting of all threads, which get LockCancelled; later calls wait no longer than ``ending``."""
        self._ending.set()

    def _acquired(self, file: IO[bytes], what: str) -> bool:
        """Wait for the lock; False when the patience is at its end."""
        ending = self._ending.is_set()
        longest = self._patience.ending if ending else self._patience.longest
        began, pause, said = time.monotonic(), SHORTEST, False
        while not _locked(file):
            if not ending and self._ending.wait(pause):
                raise LockCancelled(f"the run ends while it waits for {what}, which {_holder(file)} makes")
            if ending:
                time.sleep(pause)
            pause = min(pause * 2, LONGEST)
            waited = time.monotonic() - began
            if not said and waited >= self._patience.say:
                said = True
                self._note(f"cache: {_waiting(what, _holder(file), self._patience)}")
            if waited >= longest or (waited >= self._patience.stopped and _holder(file).stopped):
                self._note(
                    f"cache: {what}: {_holder(file)} has not made it in {waited:.0f} s; this run makes it itself"
                )
                return False
        return True


def _waiting(what: str, holder: Holder, patience: Patience) -> str:
    most = patience.stopped if holder.stopped else patience.longest
    return f"{what} is being made by {holder}; this run waits for it, at most {most:.0f} s, then makes it itself"


def _locked(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sign(file: IO[bytes]) -> None:
    """Write into the lock's file who holds it, for those who wait."""
    program = Path(sys.argv[0])
    name = program.parent.name if program.name == "__main__.py" else program.name  # python -m pytest
    command = " ".join([name, *sys.argv[1:]])[:COMMAND].encode("ascii", "backslashreplace").decode()
    with suppress(OSError):  # on a full disk the waiting run cannot say for whom it waits
        os.pwrite(file.fileno(), json.dumps([os.getpid(), command]).encode("ascii"), 0)


def _release(file: IO[bytes]) -> None:
    with suppress(OSError):
        os.ftruncate(file.fileno(), 0)
    fcntl.flock(file, fcntl.LOCK_UN)  # closing is not enough when a forked process has the file as well


def _holder(file: IO[bytes]) -> Holder:
    try:
        pid, command = json.loads(os.pread(file.fileno(), 4096, 0))
    except (OSError, ValueError):  # it has taken or released the lock in this moment
        return Holder(0, "")
    return Holder(int(pid), str(command))
