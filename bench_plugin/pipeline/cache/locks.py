"""The locks of recipes: one run makes a stage while the others wait for it, say for whom, and not without end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bench_plugin.domain.errors import BenchError
from bench_plugin.pipeline.cache.leases import opened_lock
from bench_plugin.reach.lock_holder import Holder, holder_of, release, sign, taken

SHORTEST, LONGEST = 0.001, 0.05  # seconds between two looks at a lock


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
                    stack.callback(release, file)
                    sign(file)
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
        while not taken(file):
            if not ending and self._ending.wait(pause):
                raise LockCancelled(f"the run ends while it waits for {what}, which {holder_of(file)} makes")
            if ending:
                time.sleep(pause)
            pause = min(pause * 2, LONGEST)
            waited = time.monotonic() - began
            if not said and waited >= self._patience.say:
                said = True
                self._note(f"cache: {_waiting(what, holder_of(file), self._patience)}")
            if waited >= longest or (waited >= self._patience.stopped and holder_of(file).stopped):
                self._note(
                    f"cache: {what}: {holder_of(file)} has not made it in {waited:.0f} s; this run makes it itself"
                )
                return False
        return True


def _waiting(what: str, holder: Holder, patience: Patience) -> str:
    most = patience.stopped if holder.stopped else patience.longest
    return f"{what} is being made by {holder}; this run waits for it, at most {most:.0f} s, then makes it itself"
