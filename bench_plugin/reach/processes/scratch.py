"""Scratch folders of runs: locked while their run or its guardian lives, so that others can tell what is left over.

A run makes ``run-<random>`` with a file ``lock`` in it, and holds a lock on that file (flock(2)), which the guardian
and its keepers inherit. The kernel gives it up when the last of them has ended, in whatever way. The next run, and
``bench cache prune``, remove the folders whose lock nobody holds.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = "lock"
DAYS = 7  # folders without a lock, of earlier versions and for files beside agents, are left over after so many days


def make_scratch(base: Path) -> tuple[Path, int]:
    """A new folder below ``base`` and the descriptor that holds its lock, which the caller closes after removing it.

    Where nothing can be written there, it lies in the system's folder for temporary files. Raises OSError where it
    cannot be made there either.
    """
    try:
        base.mkdir(parents=True, exist_ok=True)
        with _making(base):
            return _locked(Path(tempfile.mkdtemp(prefix="run-", dir=base)))
    except OSError:
        return _locked(Path(tempfile.mkdtemp(prefix="bench-run-")))


def sweep(base: Path) -> int:
    """Remove the folders below ``base`` that no living run owns; returns how many there were.

    Where nothing can be written there, nothing can be removed either.
    """
    try:
        with _making(base):
            found = [(folder, _claimed(folder)) for folder in sorted(base.iterdir()) if folder.is_dir()]
    except OSError:
        return 0
    left = [(folder, lock) for folder, lock in found if lock is not None]
    for folder, lock in left:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)
    return len(left)


def _locked(folder: Path) -> tuple[Path, int]:
    lock = _open(folder / LOCK)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return folder, lock


def _claimed(folder: Path) -> int | None:
    """A descriptor with the lock of a folder that is left over; None where its owner lives or may live."""
    path = folder / LOCK
    try:
        if not path.exists() and time.time() - folder.stat().st_mtime < DAYS * 86400:
            return None
        lock = _open(path)
    except OSError:  # another user's, or another process is removing it
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


@contextmanager
def _making(base: Path) -> Iterator[None]:
    """While one process makes a folder or looks for left ones, no other does: a new folder has no lock for a moment."""
    lock = _open(base.with_name(f"{base.name}.lock"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
