"""Thresholds: from which change on a cell is called slower, or larger, than it was; and what is said of its time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_SLOWDOWN = 0.03  # a share of the time: the smallest effect that is called one where nobody says otherwise
LEAST_SLOWDOWN, MOST_SLOWDOWN = 0.005, 10.0
# The verdicts on a time.
SLOWER, FASTER, SAME = "slower", "faster", "same"
TOO_NOISY, NOT_COMPARABLE = "too noisy to say", "not comparable"


@dataclass(frozen=True)
class Threshold:
    """A row ``thresholds`` of the configuration: which cells by their axes, and from where on a change counts.

    ``max_slowdown`` is a share of the time, and ``max_growth`` one of instructions, flash and RAM. None: not said here.
    """

    selector: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    max_slowdown: float | None = None
    max_growth: float | None = None

    def matches(self, axes: Mapping[str, Any]) -> bool:
        """Whether every axis of the selector has one of its values."""
        return all(str(axes.get(key, "")) in values for key, values in self.selector.items())


@dataclass(frozen=True)
class Thresholds:
    """All thresholds of a project; ``max_slowdown`` holds for cells that no row speaks of."""

    rows: tuple[Threshold, ...] = ()
    max_slowdown: float = MAX_SLOWDOWN

    def slowdown(self, axes: Mapping[str, Any], marked: float | None = None) -> float:
        """What a cell's time may grow by, as a share.

        What the ``marked`` test says is nearest to the cell, then the last row that selects it.
        """
        if marked is not None:
            return marked
        return _last((row.max_slowdown for row in self.rows if row.matches(axes)), self.max_slowdown)

    def growth(self, axes: Mapping[str, Any]) -> float:
        """What a cell's instructions and bytes may grow by, as a share: 0 where no row says more."""
        return _last((row.max_growth for row in self.rows if row.matches(axes)), 0.0)


def _last(values: Iterable[float | None], usual: float) -> float:
    said = [value for value in values if value is not None]
    return said[-1] if said else usual
