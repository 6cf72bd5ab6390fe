"""The deadline of one request to an agent."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench_plugin.domain.outcome import Stage

STAGES = frozenset(str(stage) for stage in Stage)
NAME_CHARACTERS = 60


class Deadline:
    """Each stage of a request has ``seconds``, and so has what comes before the first one.

    With ``wall`` they are seconds of processor time, which ``spent`` reads, counted from any moment: so a busy machine
    changes nothing. What waits and computes nothing ends after ``wall`` seconds on the clock. Where ``spent`` gives
    None there is nothing to read, and ``seconds`` are those on the clock.

    The clock starts once for each of the stages that docs/vocabulary.md names. To announce a stage again, or one that
    is not known, does not start it again. So a request has a total limit: the seconds, times the number of stages.
    """

    def __init__(self, seconds: float, *, wall: float = 0.0, spent: Callable[[], float | None] = lambda: None) -> None:
        self.seconds = seconds
        self.stage: str | None = None
        self._wall = wall
        self._spent = spent
        self._since = time.monotonic()
        self._before: float | None = None  # processor time at the first look of the stage: short calls need none
        self._used = 0.0
        self._begun: set[str] = set()

    def begin(self, stage: str) -> None:
        """Note that a stage was announced; a long name is cut, because messages show it."""
        self.stage = stage if len(stage) <= NAME_CHARACTERS else stage[: NAME_CHARACTERS - 1] + "…"
        if stage in STAGES and stage not in self._begun:
            self._begun.add(stage)
            self._since = time.monotonic()
            self._before, self._used = None, 0.0

    def look(self) -> None:
        """Read the processor time, which counts from the first look of a stage on."""
        if not self._wall:
            return
        now = self._spent()
        if now is None:
            self._wall = 0.0
            return
        self._before = now if self._before is None else self._before
        self._used = max(self._used, now - self._before)  # what a process leaves unread when it ends is lost

    def left(self) -> float:
        """The seconds on the clock after which it may have passed; 0 or less when it has."""
        elapsed = time.monotonic() - self._since
        if not self._wall:
            return self.seconds - elapsed
        return min(self._wall - elapsed, self.seconds - self._used)

    @property
    def text(self) -> str:
        """What a request did that took too long: which limit, and both times."""
        if not self._wall:
            return f"took longer than {self.seconds:g} s"
        clock = f"{time.monotonic() - self._since:.1f} s"
        if self._used >= self.seconds:
            return (
                f"took longer than {self.seconds:g} s of processor time: {self._used:.1f} s, and {clock} on the clock"
            )
        may = f"{self._used:.1f} s of processor time, of which it may use {self.seconds:g} s"
        return f"took longer than {self._wall:g} s on the clock: {clock}, and {may}"
