"""Finite numbers and texts out of rows, whatever stands there: a row that is broken has None, and stops no picture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def inner(value: Any, *path: str) -> Any:
    """What stands at a path of keys in nested mappings; None where there is nothing.

    >>> inner({"timing": {"compute": {"median": 2.0}}}, "timing", "compute", "median")
    2.0
    """
    for key in path:
        if type(value) is not dict and not isinstance(
            value, Mapping
        ):  # nearly all are, and the second question is slow
            return None
        value = value.get(key)
    return value


def number(value: Any, *path: str) -> float | None:
    """A finite number at a path; None for everything else, also for text and for truth values.

    >>> number({"E": float("nan")}, "E"), number({"E": "1"}, "E"), number({"E": 3}, "E")
    (None, None, 3.0)
    """
    found = inner(value, *path) if path else value
    if type(found) is float:
        return found if math.isfinite(found) else None
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    try:
        found = float(found)
    except OverflowError:  # an integer of more than 308 digits
        return None
    return found if math.isfinite(found) else None


def positive(value: Any, *path: str) -> float | None:
    """The same of a number above zero, which a logarithmic axis can show."""
    found = number(value, *path)
    return found if found is not None and found > 0 else None


def numbers(value: Any, *path: str) -> list[float]:
    """The finite numbers of a list at a path, in their order; empty where there is no list."""
    found = inner(value, *path)
    if not isinstance(found, list | tuple):
        return []
    return [one for item in found if (one := number(item)) is not None]


def digits(value: float) -> float:
    """The value with five significant digits.

    >>> digits(0.0123456789)
    0.012346
    """
    return float(f"{value:.5g}")


def text(value: Any, *path: str) -> str:
    """A text or a whole number at a path as text; empty for everything else."""
    found = inner(value, *path)
    return str(found) if isinstance(found, str | int) and not isinstance(found, bool) else ""
