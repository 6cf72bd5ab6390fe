"""The lock of a toolchain that is being made: it excludes other runs, and who waits for it says for whom."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.reach.lock_holder import holder_of, release, sign, taken

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
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), "r+b") as file:
        if not taken(file):
            progress(f"waiting for another run that makes {what}: {holder_of(file)}")
            _wait(file, what, cancelled, patience)
        sign(file)
        try:
            yield
        finally:
            release(file)


def _wait(file: IO[bytes], what: str, cancelled: threading.Event, patience: float) -> None:
    end = time.monotonic() + patience
    while not taken(file):
        if cancelled.wait(ASK_EVERY):
            raise EnvironmentMissing(f"{what} is not made: the run is ending")
        if time.monotonic() >= end:
            raise EnvironmentMissing(
                f"{what} is not made: {holder_of(file)} has been at it for more than {patience:g} s; "
                "if that process is stopped or hangs, end it and run again"
            )
