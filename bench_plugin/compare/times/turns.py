"""Statistics of measuring two artefacts in turn on one machine: values of launches, their comparison, when to stop.

All are pure functions of seconds. Four fresh launches of each side take turns in the order ABBAABBA, every other round
in reverse, so that a machine that drifts does it to both sides. A launch's value is the logarithm of the *minimum* over
all its calls: neighbours of the machine only ever add time. The launch is the unit of replication (docs/comparison.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bench_plugin.compare.times.timing import student_t
from bench_plugin.domain.thresholds import FASTER, MAX_SLOWDOWN, SAME, SLOWER, TOO_NOISY

if TYPE_CHECKING:
    Series = np.ndarray[Any, np.dtype[np.float64]]

BASE, HEAD = "base", "head"
ORDER = (BASE, HEAD, HEAD, BASE, BASE, HEAD, HEAD, BASE)  # a launch each
LEAST_ROUNDS = 6
FEWEST_ROUNDS = 2  # of a model so slow that the seconds are over before
MOST_SECONDS = 9.2  # of a comparison, its start included
# Shares of the smallest effect: half-widths at which measuring ends, and above which there is no answer. At the usual
# effect of 3 % they are 2.5 % and 5 %.
WANTED, NOISY = 2.5 / 3, 5 / 3
CALLS, DROPPED = 10, 1  # of a turn; the first calls of a turn find caches that another launch has filled
SLOW = 0.02  # seconds from which cold caches are no share of a call that matters, so that none is dropped
SHORT = 50e-6  # seconds below which a sample is the mean over several inferences
LONG_SAMPLE = 1e-3  # seconds that such a sample takes at least
TURNS_SECONDS = 5.0  # that the least number of rounds may take


@dataclass(frozen=True)
class Turn:
    """What one turn of a launch is: ``calls`` samples of ``inner`` inferences each, of which the first are dropped."""

    calls: int = CALLS
    dropped: int = DROPPED
    inner: int = 1


@dataclass(frozen=True)
class Compared:
    """Head against base: ``d`` is the logarithm of the ratio of times, so 0.03 is 3 % more; ``half_width`` of 95 %."""

    d: float
    half_width: float
    verdict: str


def turn_of(seconds: float) -> Turn:
    """The turn for a model whose inference takes about ``seconds``.

    A fast one gets several inferences per sample, a slow one fewer calls per turn, so that the least number of rounds
    ends before the seconds of a comparison are over.

    >>> turn_of(7.5e-3)
    Turn(calls=10, dropped=1, inner=1)
    >>> turn_of(4e-6)
    Turn(calls=10, dropped=1, inner=251)
    >>> turn_of(0.1)
    Turn(calls=1, dropped=0, inner=1)
    """
    if seconds < SHORT:
        return Turn(inner=int(LONG_SAMPLE / max(seconds, 1e-9)) + 1)
    calls = max(1, min(CALLS, round(TURNS_SECONDS / (LEAST_ROUNDS * len(ORDER) * seconds))))
    return Turn(calls, dropped=DROPPED if seconds < SLOW and calls > DROPPED else 0)


def order_of(number: int) -> Iterator[int]:
    """The places of the launches in the order of round ``number``, from 0: every other round is reversed."""
    places = range(len(ORDER))
    return iter(places if number % 2 == 0 else reversed(places))


class Samples:
    """The seconds per inference of all calls, by launch. ``sides`` says which side each launch is of."""

    def __init__(self, sides: Sequence[str] = ORDER) -> None:
        self.sides = tuple(sides)
        self._seconds: list[list[float]] = [[] for _ in sides]

    def add(self, place: int, seconds: Sequence[float], dropped: int = 0) -> None:
        """Take the calls of a turn [n] of the launch at ``place``, without the first ``dropped``."""
        self._seconds[place] += [float(one) for one in seconds[dropped:]]

    def values(self, side: str) -> Series:
        """The value of every launch of a side [launches]: the logarithm of its fastest call."""
        return np.log([min(calls) for calls in self._of(side)])

    def median(self, side: str) -> float:
        """The median over the medians of a side's launches, in seconds."""
        return float(np.median([np.median(calls) for calls in self._of(side)]))

    def minimum(self, side: str) -> float:
        """The fastest call of a side, in seconds."""
        return min(min(calls) for calls in self._of(side))

    def compared(self, effect: float = MAX_SLOWDOWN) -> Compared:
        """Head against base, with at least two launches that have calls on each side."""
        return compared(self.values(BASE), self.values(HEAD), effect)

    def _of(self, side: str) -> list[list[float]]:
        return [calls for one, calls in zip(self.sides, self._seconds, strict=True) if one == side and calls]


def welch(base: Series, head: Series) -> tuple[float, float]:
    """The difference of the means of two sets of launches [n], [m], and the half-width of its 95 % interval.

    Raises ValueError for a side of less than two launches.
    """
    if min(len(base), len(head)) < 2:
        raise ValueError(f"{len(base)} and {len(head)} launches; a comparison needs two on each side")
    error = math.sqrt(float(base.var(ddof=1)) / len(base) + float(head.var(ddof=1)) / len(head))
    return float(head.mean() - base.mean()), student_t(len(base) + len(head) - 2) * error


def compared(base: Series, head: Series, effect: float = MAX_SLOWDOWN) -> Compared:
    """Head against base from the values of their launches, logarithms of seconds [n], [m]."""
    d, half_width = welch(base, head)
    return Compared(d, half_width, verdict(d, half_width, effect))


def verdict(d: float, half_width: float, effect: float = MAX_SLOWDOWN) -> str:
    """Slower or faster where ``d`` is more than its half-width and than the smallest effect; else same, or no answer.

    >>> [verdict(*one) for one in ((0.1, 0.02), (-0.1, 0.02), (0.02, 0.01), (0.02, 0.06), (0.1, 0.06))]
    ['slower', 'faster', 'same', 'too noisy to say', 'slower']
    """
    if abs(d) > max(half_width, effect):
        return SLOWER if d > 0 else FASTER
    return TOO_NOISY if half_width > NOISY * effect else SAME


def enough(rounds: int, half_width: float, effect: float = MAX_SLOWDOWN) -> bool:
    """Whether measuring may end: it looks at the width only, never at the difference, which would bias it."""
    return rounds >= LEAST_ROUNDS and half_width <= WANTED * effect


def over(rounds: int, elapsed: float, last: float, most: float = MOST_SECONDS) -> bool:
    """Whether the seconds are over: ``elapsed`` so far, and a further round takes about as long as the ``last``."""
    return rounds >= FEWEST_ROUNDS and elapsed + 1.2 * last > most
