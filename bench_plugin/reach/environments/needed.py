"""The toolchains that a run needs: once one has to be made, the others are made while the first cells run."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from bench_plugin.domain.errors import BenchError
from bench_plugin.reach.environments.toolchains import ANOTHER, Toolchains

SIDE_BY_SIDE = 2  # unpacking one already keeps more than one core busy


class NeededToolchains:
    """Gives the interpreters of toolchains. ``note`` is called with a line of text before and after one is made.

    Nothing is made while the results of all cells are stored. The first toolchain that is requested and missing starts
    the making of all expected ones, in their order.
    """

    def __init__(self, toolchains: Toolchains, note: Callable[[str], None]) -> None:
        self._toolchains = toolchains
        self._note = note
        self._expected: Iterable[str] = ()
        self._waiting: deque[str] = deque()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def expect(self, names: Iterable[str]) -> None:
        """Expect these toolchains, in this order; the names are read when the first one has to be made."""
        self._expected = names

    def python(self, name: str) -> Path:
        """The interpreter of a toolchain, which is made if it is missing. Raises EnvironmentMissing if it cannot be.

        One that another lock has made is not made again.
        """
        if name.startswith(ANOTHER):
            return self._toolchains.python_of(name.removeprefix(ANOTHER))
        if not self._toolchains.ready(name):
            self._begin()
        return self._toolchains.ensure(name, progress=self._note)

    def close(self) -> None:
        """Stop the making of toolchains and remove the incomplete ones."""
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
            except BenchError:  # the cell that needs it gets the same error and reports it
                continue

    def _next(self) -> str | None:
        with self._lock:
            return self._waiting.popleft() if self._waiting else None
