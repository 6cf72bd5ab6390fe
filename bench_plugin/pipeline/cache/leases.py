"""Leases: which versions the living runs use, so that no run removes what another one reads or writes.

A run holds a flock(2) on its own file in ``leases/``; the kernel drops that lock when the process ends, however it
ends. The file names the versions that the run uses, one per line.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

PAUSE = 0.002
ATTEMPTS = 100


class Lease:
    """The lease of one run, until :meth:`release` or the end of the process. Raises OSError where it cannot be made."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path, self._file = _locked_file(folder)
        self._held: set[str] = set()
        self._lock = threading.Lock()
        self.release = weakref.finalize(self, _release, self._path, self._file, os.getpid())

    @property
    def name(self) -> str:
        """The name of the lease, which is also that of the run's folder in ``making/``."""
        return self._path.name

    @property
    def held(self) -> frozenset[str]:
        """The versions added so far."""
        with self._lock:
            return frozenset(self._held)

    def add(self, version: str) -> None:
        """Say that the run uses this version. Raises OSError where that cannot be written."""
        with self._lock:
            if version in self._held:
                return
            line = f"\n{version}\n".encode()  # apart from a line that was cut by a full disk
            if self._file.write(line) != len(line):
                raise OSError(f"{self._path} could not be written")
            self._held.add(version)

    def drop(self, version: str) -> None:
        """The run uses a version no longer that it has only looked at. Other runs learn it when the lease ends."""
        with self._lock:
            self._held.discard(version)


class Guard:
    """The lock on leases and versions together, held for moments: a version is either leased or removed, never both."""

    def __init__(self, path: Path, *, seconds: float = 2.0) -> None:
        self._path = path
        self._seconds = seconds
        self.blocked = False

    @contextmanager
    def held(self, *, exclusive: bool) -> Iterator[bool]:
        """Hold it for reading, or alone; yields False after ``seconds`` (a stopped process may hold it).

        While it is ``blocked`` in this way, later calls do not wait. Raises OSError where the cache cannot be written.
        """
        with opened_lock(self._path) as file:
            deadline = time.monotonic() + (0 if self.blocked else self._seconds)
            wanted = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
            while not (got := _locks(file.fileno(), wanted)) and time.monotonic() < deadline:
                time.sleep(PAUSE)
            self.blocked = not got
            try:
                yield got
            finally:
                if got:
                    fcntl.flock(file, fcntl.LOCK_UN)  # closing is not enough when a forked process has the file as well


def opened_lock(path: Path) -> IO[bytes]:
    """A lock's file, made with its folder if it is missing, open for reading and writing. Raises OSError."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.fdopen(os.open(path, flags, 0o666), "r+b", buffering=0)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.fdopen(os.open(path, flags, 0o666), "r+b", buffering=0)


def living(folder: Path) -> dict[str, frozenset[str]]:
    """The versions used by every run that lives, by the name of its lease. The leases of ended runs are removed.

    Raises OSError for a lease that cannot be read.
    """
    found: dict[str, frozenset[str]] = {}
    for path in folder.glob("*"):
        try:
            with path.open("rb") as file:
                if _locks(file.fileno(), fcntl.LOCK_SH):
                    with suppress(OSError):  # on a disk that cannot be written it stays, and does no harm
                        path.unlink()
                else:
                    found[path.name] = frozenset(file.read().decode().split())
        except FileNotFoundError:
            continue  # released in this moment
    return found


def _locked_file(folder: Path) -> tuple[Path, IO[bytes]]:
    for _ in range(ATTEMPTS):
        path = folder / f"{os.getpid()}-{secrets.token_hex(4)}"
        file: IO[bytes] = path.open("xb", buffering=0)
        if _locks(file.fileno(), fcntl.LOCK_EX) and os.fstat(file.fileno()).st_nlink:
            return path, file
        file.close()  # another run took it for the lease of an ended run, before it was locked
    raise OSError(f"{folder}: no lease could be locked")


def _locks(file: int, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _release(path: Path, file: IO[bytes], owner: int) -> None:
    if os.getpid() == owner:  # a forked process must not end the lease of its parent
        with suppress(OSError):
            path.unlink()
        fcntl.flock(file, fcntl.LOCK_UN)
    file.close()
