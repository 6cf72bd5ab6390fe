"""How far the integers of a deployed layer are from those that a simulation predicts, in steps of its scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

TIE = 0.01  # steps around the middle of two integers, where either is right
LEVELS = 255  # the largest uint8
MOST_OFF = 0.01  # the share of elements that may be a step or more off, ties apart, as in compare/table.py


@dataclass(frozen=True)
class Gap:
    """The distance of ``elements`` integers from the simulated ones. Left out are ``ties``, which lie between two
    integers, and ``input_ties``, which hang on an activation of the layer that does.

    ``off`` is the share (of 1) of the others that differ, ``mean`` and ``largest`` are their distances in steps,
    ``tied_off`` is the share of the ``input_ties`` that differ. A share of nothing is 0.
    """

    elements: int
    ties: int
    off: float
    mean: float
    largest: float
    input_ties: int = 0
    tied_off: float = 0.0

    @property
    def found(self) -> bool:
        """Whether it is more than rounding can be: over 1 % of the elements differ."""
        return self.off > MOST_OFF


def gap(unrounded: Array, integers: Array, tied: Array | None = None) -> Gap:
    """The gap of a layer: ``unrounded`` [N, ...] are its simulated results in steps, with the zero point, before they
    are rounded and clamped to 0..255; ``integers`` [N, ...] what the deployed layer made, of the same shape. ``tied``
    [N, ...], bool, says which elements hang on a tie of an activation.

    Raises ValueError for arrays of different shapes.

    >>> gap(np.array([1.2, 2.5, 300.0, 4.0]), np.array([1, 3, 255, 5]))
    Gap(elements=4, ties=1, off=0.3333333333333333, mean=0.3333333333333333, largest=1.0, input_ties=0, tied_off=0.0)
    """
    if unrounded.shape != integers.shape:
        raise ValueError(f"integers of shape {list(integers.shape)} where {list(unrounded.shape)} are simulated")
    steps = np.clip(np.asarray(unrounded, dtype=np.float64), 0, LEVELS)
    tie = np.abs(steps - np.floor(steps) - 0.5) <= TIE
    given = np.zeros_like(tie) if tied is None else tied & ~tie
    distance = np.abs(np.asarray(integers, dtype=np.float64) - np.rint(steps))
    off, tied_off = distance[~(tie | given)], distance[given]
    return Gap(
        elements=int(steps.size), ties=int(tie.sum()), off=_mean(off > 0), mean=_mean(off),
        largest=float(off.max(initial=0.0)), input_ties=int(given.sum()), tied_off=_mean(tied_off > 0),
    )  # fmt: skip


def _mean(values: Array) -> float:
    return float(values.mean()) if values.size else 0.0


def growth(depths: Sequence[Gap]) -> float | None:
    """The rank correlation of the mean gap with the depth of its layer, from -1 to 1; None for fewer than three layers
    or where all gaps are equal.

    >>> growth([Gap(9, 0, 0, mean, 0) for mean in (0.0, 0.1, 0.3)])
    1.0
    """
    means = np.array([one.mean for one in depths])
    if len(means) < 3 or (means == means[0]).all():
        return None
    order = np.array([(np.sum(means < one) + np.sum(means <= one) - 1) / 2 for one in means])
    return float(np.corrcoef(np.arange(len(means)), order)[0, 1].round(12))
