"""A series of numbers as one short line of characters: the lowest is ▁, the highest █, a gap a space."""

from __future__ import annotations

import math
from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 32  # characters; of more values, the newest
SMALL = 0.02  # a span under this share of the values is drawn as a flat line: it is no trend


def sparkline(values: Sequence[float | None], *, logarithmic: bool = False) -> str:
    """The newest values as a line; empty where there is none. ``logarithmic`` is for values over many magnitudes.

    >>> sparkline([1.0, 2.0, None, 4.0])
    '▁▃ █'
    """
    shown = [_scaled(value, logarithmic) for value in values[-WIDTH:]]
    known = [value for value in shown if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    flat = high - low <= (0.02 if logarithmic else SMALL * max(abs(high), abs(low)))
    return "".join(" " if value is None else _bar(value, low, high, flat) for value in shown)


def _bar(value: float, low: float, high: float, flat: bool) -> str:
    return BARS[0] if flat else BARS[round((value - low) / (high - low) * (len(BARS) - 1))]


def _scaled(value: float | None, logarithmic: bool) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    if not logarithmic:
        return value
    return math.log10(value) if value > 0 else None
