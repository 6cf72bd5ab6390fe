"""Outputs of integers that are the numbers of chosen elements: how much less than the chosen ones others are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bench_plugin.compare.measures import scale_of

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Chosen:
    """The k elements that an ArgMax or a TopK chooses along an axis, and their numbers.

    ``values`` [N, ...] are what it chooses from over N inputs, ``numbers`` [N, ..., k, ...] the chosen elements, and
    ``axis`` is counted from the last one, which is -1.
    """

    values: Array
    numbers: Array
    axis: int

    def error(self, others: Array) -> float:
        """How far the elements ``others`` are from the chosen ones, as a share of what the inputs change.

        It is the root mean square of the differences, each the j-th element less the j-th chosen one, so that numbers
        that differ between nearly equal elements are a small error. ``others`` [n, ...] has as many elements of an
        input as ``numbers`` has; the first inputs that both have are compared. Infinite for another number of elements,
        and where there is no such element.
        """
        count = min(len(others), len(self.values))
        values, numbers, others = self.values[:count], self.numbers[:count], others[:count]
        if others.size != numbers.size:
            return float("inf")
        size = values.shape[self.axis]
        shape = list(values.shape)
        shape[self.axis] = numbers.size * size // max(values.size, 1)
        own, given = (one.astype(np.int64).reshape(shape) for one in (numbers, others))
        if not ((given >= -size) & (given < size)).all():
            return float("inf")
        taken, wanted = (np.take_along_axis(values, one, self.axis) for one in (given, own))
        off = float(np.sqrt(np.mean((taken - wanted) ** 2)))
        unit = scale_of(self.values).rms
        return off / unit if unit > 0 else (0.0 if off == 0 else float("inf"))
