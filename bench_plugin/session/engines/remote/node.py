"""The lock of a machine that several worker processes share: cells compute beside each other, a timing alone.

Two files below the cache folder, locked by flock(2), which ends with the process. Who wants the machine alone holds the
first one while it waits for the second, so that no cell that comes later goes before it.
"""

from __future__ import annotations

import fcntl
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench_plugin.domain.paths import cache_root


@contextmanager
def machine(*, alone: bool) -> Iterator[None]:
    """Compute on this machine beside other cells, or ``alone``; waits until that is possible."""
    folder = cache_root()
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(_file(folder, "turn"), fcntl.LOCK_EX) as turn, _locked(
        _file(folder, "cells"), fcntl.LOCK_EX if alone else fcntl.LOCK_SH
    ):  # fmt: skip
        fcntl.flock(turn, fcntl.LOCK_UN)
        yield


@contextmanager
def _locked(path: Path, how: int) -> Iterator[int]:
    with path.open("ab") as file:
        fcntl.flock(file, how)
        yield file.fileno()


def _file(folder: Path, what: str) -> Path:
    """The file of one machine: a cache folder may be on a disk that several machines share."""
    return folder / f"machine-{re.sub(r'[^A-Za-z0-9.-]', '_', platform.node())}.{what}"
