"""Tokens for memory: processes that compute side by side take them in the cache's folder, so that all fit together.

One process bounds the memory of its cells by its scheduler. The workers of pytest-xdist have a scheduler each, and so a
cell also takes a token, which says how many bytes its processes may need. A token is a file with a lock (flock(2)),
which is free at once when its process is killed.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bench_plugin.domain.errors import BenchError
from bench_plugin.pipeline.cache.leases import opened_lock
from bench_plugin.reach.lock_holder import taken

GIB = 2**30
PAUSE = 0.05  # seconds between two looks


class TokensCancelled(BenchError):
    """The run ends while a cell waits for memory."""


@dataclass(frozen=True)
class Waiting:
    """After how many seconds a process says that it waits for memory, and goes on without a token."""

    say: float = 10.0
    longest: float = 1800.0


class MemoryTokens:
    """Tokens in ``folder`` for ``limit`` bytes, shared by every process that uses the folder.

    Who wants a token stands in line: a large cell waits only for those that compute, not for every small one that
    comes later. ``note`` is called with a sentence for the user. Where the folder cannot be written, or a process that
    is stopped holds everything up, cells go on without tokens.
    """

    def __init__(
        self, folder: Path, limit: int, *, note: Callable[[str], None], waiting: Waiting | None = None
    ) -> None:
        self._folder = folder
        self._limit = limit
        self._note = note
        self._waiting = waiting or Waiting()
        self._ending = threading.Event()

    @contextmanager
    def held(self, size: int, what: str) -> Iterator[None]:
        """Hold a token for ``size`` bytes, for the cell ``what``; one is given to a process that is alone in any case.

        Raises TokensCancelled when :meth:`cancel` is called while it waits.
        """
        token: IO[bytes] | None = None
        try:
            token = self._taken(size, what)
        except OSError as error:
            self._note(f"{self._folder}: {error.strerror}; memory is not bounded across the processes of this run")
        try:
            yield
        finally:
            if token is not None:
                with suppress(OSError):
                    os.unlink(token.name)
                token.close()

    def cancel(self) -> None:
        """End the waiting of all threads, which get TokensCancelled."""
        self._ending.set()

    def _taken(self, size: int, what: str) -> IO[bytes] | None:
        """Wait for a token; None when the patience is at its end. Raises OSError, TokensCancelled."""
        began, said = time.monotonic(), False
        with opened_lock(self._folder / "line") as line:
            mine = False
            while True:
                mine = mine or taken(line)
                if mine and self._fits(size):
                    return self._made(size)
                waited = time.monotonic() - began
                if waited >= self._waiting.longest:
                    self._note(f"{what}: no memory was free for {waited:.0f} s; it is computed now")
                    return None
                if not said and waited >= self._waiting.say:
                    said = True
                    self._note(f"{what} waits for {size / GIB:.1f} GiB of memory, which other workers use")
                if self._ending.wait(PAUSE):
                    raise TokensCancelled(f"the run ends while {what} waits for memory")

    def _fits(self, size: int) -> bool:
        held = self._held()
        return not held or sum(held) + size <= self._limit

    def _held(self) -> list[int]:
        """The sizes of the tokens of living processes. Those of dead ones are removed; the caller stands in front."""
        sizes = []
        for path in self._folder.glob("*.token"):
            with suppress(FileNotFoundError), path.open("r+b", buffering=0) as file:
                if taken(file):
                    path.unlink(missing_ok=True)
                else:
                    sizes.append(int(file.read() or 0))
        return sizes

    def _made(self, size: int) -> IO[bytes]:
        name = f"{os.getpid()}-{secrets.token_hex(4)}.token"
        token = (self._folder / name).open("x+b", buffering=0)
        taken(token)
        token.write(str(size).encode())
        return token
