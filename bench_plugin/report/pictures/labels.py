"""Which labels of points can be drawn without covering each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

WIDE, HIGH = 0.26, 0.05  # of a label, as shares of the picture's width and height


def uncrowded(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Whether the label of each point (x, y), both above 0 and on logarithmic axes, has room; earlier ones come first.

    >>> uncrowded([(1, 1), (1.01, 1.01), (100, 100)])
    [True, False, True]
    """
    placed: list[tuple[float, float]] = []
    shown = []
    scaled = list(zip(*(_shares([point[axis] for point in points]) for axis in (0, 1)), strict=True))
    for x, y in scaled:
        free = all(abs(x - other) >= WIDE or abs(y - beside) >= HIGH for other, beside in placed)
        shown.append(free)
        placed += [(x, y)] if free else []
    return shown


def _shares(values: Sequence[float]) -> list[float]:
    """Where values lie between the least and the largest, from 0 to 1 in steps of their logarithm."""
    logs = [math.log(value) for value in values]
    least, span = min(logs, default=0.0), max(logs, default=0.0) - min(logs, default=0.0)
    return [(value - least) / span if span else 0.5 for value in logs]
