"""Which labels of points can be drawn without covering each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LETTER, HEIGHT = 6.0, 13.0  # pixels of a label in 10 px type: the width of a letter, the height of a line


@dataclass(frozen=True)
class Label:
    """A text to the right of a point; ``x`` and ``y`` are above 0, for logarithmic axes."""

    x: float
    y: float
    text: str


def uncrowded(labels: Sequence[Label], width: float, height: float) -> list[bool]:
    """Whether each label has room in a picture of so many pixels; earlier ones come first, an empty one needs none.

    >>> uncrowded([Label(1, 1, "one"), Label(1.01, 1.01, "beside it"), Label(100, 100, "far")], 300, 200)
    [True, False, True]
    """
    across = _pixels([one.x for one in labels], width)
    up = _pixels([one.y for one in labels], height)
    placed: list[tuple[float, float, float]] = []
    shown = []
    for x, y, one in zip(across, up, labels, strict=True):
        end = x + LETTER * len(one.text)
        free = all(x > right or end < left or abs(y - other) >= HEIGHT for left, right, other in placed)
        shown.append(free)
        placed += [(x, end, y)] if free and one.text else []
    return shown


def _pixels(values: Sequence[float], length: float) -> list[float]:
    """Where values lie on a logarithmic axis of that length from the least to the largest of them."""
    logs = [math.log(value) for value in values]
    least, span = min(logs, default=0.0), max(logs, default=0.0) - min(logs, default=0.0)
    return [length * (value - least) / span if span else 0.0 for value in logs]
