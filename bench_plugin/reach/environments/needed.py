"""The toolchains that a run needs: once one of them has to be made, the others are made beside the first cells."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from bench_plugin.domain.errors import BenchError
from bench_plugin.reach.environments.toolchains import Toolchains

SIDE_BY_SIDE = 2  # unpacking keeps more than one core busy already


class NeededToolchains:
    """Interpreters of toolchains. ``note`` is called with a line of text before and after one is made.

    Nothing is made while every cell's results are stored: the first toolchain that is asked for and is not there
    starts the making of all that were expected, in the order in which they were expected.
    """

    def __init__(self, toolchains: Toolchains, note: Callable[[str], None]) -> None:
        self._toolchains = toolchains
        self._note = note
        self._expected: Iterable[str] = ()
        self._waiting: deque[str] = deque()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def expect(self, names: Iterable[str]) -> None:
        """These will be needed, in this order; they are read when the first has to be made."""
        self._expected = names

    def python(self, name: str) -> Path:
        """The interpreter of a toolchain, which is made if need be. Raises EnvironmentMissing."""
        if not self._toolchains.ready(name):
            self._begin()
        return self._toolchains.ensure(name, progress=self._note)

    def close(self) -> None:
        """Stop what is being made; of that nothing is left."""
        with self._lock:
            self._waiting.clear()
        self._toolchains.cancel()
        for thread in self._threads:
            thread.join()

    def _begin(self) -> None:
        with self._lock:
            if self._threads:
                return
            self._waiting.extend(dict.fromkeys(self._expected))
            for index in range(SIDE_BY_SIDE):
                thread = threading.Thread(target=self._make, name=f"bench-toolchains-{index}", daemon=True)
                self._threads.append(thread)
                thread.start()

    def _make(self) -> None:
        while (name := self._next()) is not None:
            try:
                self._toolchains.ensure(name, progress=self._note)
            except BenchError:  # the cell that needs it meets the same error and says so
                continue

    def _next(self) -> str | None:
        with self._lock:
            return self._waiting.popleft() if self._waiting else None
