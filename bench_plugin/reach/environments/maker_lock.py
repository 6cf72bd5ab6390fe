"""The lock of a toolchain that is being made: it excludes other runs, and who waits for it says for whom."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from bench_plugin.domain.errors import EnvironmentMissing

PATIENCE = 1800.0  # seconds: the largest toolchain takes some minutes over a slow network
ASK_EVERY = 0.2


@contextmanager
def maker_lock(
    path: Path, what: str, progress: Callable[[str], None], *, cancelled: threading.Event, patience: float
) -> Iterator[None]:
    """Hold the lock at ``path`` that excludes other processes and threads while ``what`` is made.

    Where another process holds it, ``progress`` is called with a line that names it, and it is waited for at most
    ``patience`` seconds. Raises EnvironmentMissing when it takes longer or when ``cancelled`` is set, OSError when the
    file cannot be opened.
    """
    with path.open("a+", encoding="ascii", errors="replace") as file:
        if not _taken(file):
            holder = _holder(file)
            progress(f"waiting for another run that makes {what} ({holder})")
            _wait(file, what, holder, cancelled, patience)
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def _wait(file: IO[str], what: str, holder: str, cancelled: threading.Event, patience: float) -> None:
    end = time.monotonic() + patience
    while not _taken(file):
        if cancelled.wait(ASK_EVERY):
            raise EnvironmentMissing(f"{what} is not made: the run is ending")
        if time.monotonic() >= end:
            raise EnvironmentMissing(
                f"{what} is not made: another run ({_holder(file)}) has been at it for more than {patience:g} s; "
                "if that process is stopped or hangs, end it and run again"
            )


def _taken(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(file: IO[str]) -> str:
    file.seek(0)
    number = file.read(20).strip()
    return f"process {number}" if number.isdecimal() else "an unknown process"
