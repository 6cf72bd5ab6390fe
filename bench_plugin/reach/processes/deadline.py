"""The deadline of one request to an agent."""

from __future__ import annotations

import time

from bench_plugin.domain.outcome import Stage

STAGES = frozenset(str(stage) for stage in Stage)
NAME_CHARACTERS = 60


class Deadline:
    """Each stage of a request has ``seconds``, and so has what comes before the first one.

    The clock starts once for each of the stages that docs/vocabulary.md names. To announce a stage again, or one that
    is not known, does not start it again. So a request has a total limit: the seconds, times the number of stages.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.stage: str | None = None
        self._since = time.monotonic()
        self._begun: set[str] = set()

    def begin(self, stage: str) -> None:
        """Note that a stage was announced; a long name is cut, because messages show it."""
        self.stage = stage if len(stage) <= NAME_CHARACTERS else stage[: NAME_CHARACTERS - 1] + "…"
        if stage in STAGES and stage not in self._begun:
            self._begun.add(stage)
            self._since = time.monotonic()

    def left(self) -> float:
        """The seconds that are left; below 0 when it has passed."""
        return self._since + self.seconds - time.monotonic()
