"""The Pareto set of candidates, and how well a predicted one agrees with a measured one."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Agreement:
    """A predicted front against the measured one, over the same candidates.

    ``precision`` is the share of the predicted front that is in the measured one, ``recall`` the share of the measured
    front that was predicted; None where there is no candidate with both figures.
    """

    predicted: tuple[str, ...]
    measured: tuple[str, ...]
    candidates: int

    @property
    def both(self) -> int:
        """How many candidates are in both fronts."""
        return len(set(self.predicted) & set(self.measured))

    @property
    def precision(self) -> float | None:
        """A share of 1."""
        return self.both / len(self.predicted) if self.predicted else None

    @property
    def recall(self) -> float | None:
        """A share of 1."""
        return self.both / len(self.measured) if self.measured else None

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "predicted": list(self.predicted), "measured": list(self.measured), "candidates": self.candidates,
            "precision": self.precision, "recall": self.recall,
        }  # fmt: skip


def front(points: Mapping[str, tuple[float, ...]]) -> set[str]:
    """The names of the points that no other one beats in something and reaches in all; more is better in everything.

    >>> sorted(front({"a": (1, 0.9), "b": (2, 0.9), "c": (3, 0.8), "d": (3, 0.8), "e": (2.5, 0.7)}))
    ['b', 'c', 'd']
    """
    kept: list[tuple[float, ...]] = []
    for one in sorted(set(points.values()), reverse=True):  # a point is only beaten by one that stands before it
        if not any(all(a >= b for a, b in zip(other, one, strict=True)) for other in kept):
            kept.append(one)
    best = set(kept)
    return {name for name, one in points.items() if one in best}


def agreement(predicted: Mapping[str, tuple[float, ...]], measured: Mapping[str, tuple[float, ...]]) -> Agreement:
    """The two fronts over the candidates that have both points; more is better in everything."""
    names: Set[str] = predicted.keys() & measured.keys()
    of_predictions = front({name: predicted[name] for name in names})
    of_measurements = front({name: measured[name] for name in names})
    return Agreement(tuple(sorted(of_predictions)), tuple(sorted(of_measurements)), len(names))
