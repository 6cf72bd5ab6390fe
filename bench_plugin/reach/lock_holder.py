"""Who holds a lock: the holder signs the lock's file, and those who wait read there for whom they wait."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

COMMAND = 200  # characters of a command line that a message shows


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock; ``pid`` is 0 where it is not known."""

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


def taken(file: IO[bytes]) -> bool:
    """Take the lock of an open file (flock(2)) without waiting; returns whether that worked."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sign(file: IO[bytes]) -> None:
    """Write into the lock's file who holds it, for those who wait. The file must not be open for appending."""
    program = Path(sys.argv[0])
    name = program.parent.name if program.name == "__main__.py" else program.name  # python -m pytest
    command = " ".join([name, *sys.argv[1:]])[:COMMAND].encode("ascii", "backslashreplace").decode()
    with suppress(OSError):  # on a full disk the waiting run cannot say for whom it waits
        os.ftruncate(file.fileno(), 0)
        os.pwrite(file.fileno(), json.dumps([os.getpid(), command]).encode("ascii"), 0)


def release(file: IO[bytes]) -> None:
    """Remove the signature and give the lock free."""
    with suppress(OSError):
        os.ftruncate(file.fileno(), 0)
    fcntl.flock(file, fcntl.LOCK_UN)  # closing is not enough when a forked process has the file as well


def holder_of(file: IO[bytes]) -> Holder:
    """The process that signed the lock's file."""
    try:
        pid, command = json.loads(os.pread(file.fileno(), 4096, 0))
        return Holder(int(pid), str(command))
    except (OSError, ValueError, TypeError):  # it has taken or released the lock in this moment
        return Holder(0, "")
