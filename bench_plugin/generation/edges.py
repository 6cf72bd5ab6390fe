"""Edge values of a type: near 0 and 1, extreme, infinite, or not a number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

LEVELS = ("none", "mild", "finite", "infinite", "ieee")


def edge_values(dtype: str, level: str, low: float, high: float, limits: tuple[int, int] | None = None) -> list[Any]:
    """Edge values of a type as scalars, the simplest first; ``level`` is one of ``edges`` in catalogue.py.

    Values around 1 are included only where the operator's bounds ``low`` and ``high`` permit them. ``limits`` are the
    smallest and the largest integer that the operand may get; without them those of the type.
    """
    reach = LEVELS.index(level)
    if dtype == "bool" or not reach:
        return []
    if np.dtype(dtype).kind in "iu":
        least, most = limits or (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
        near = [value for value in (0, 1, -1, 2) if max(low, least) <= value <= min(high, most)]
        return near + ([most, least] if reach > 1 else [])
    form = np.finfo(dtype)
    found = [value for value in (0.0, 1.0, -1.0, 0.5, -0.0) if low <= value <= high]
    beyond = [float(form.max), float(form.smallest_subnormal), float(form.tiny)]
    found += [*beyond, *(-value for value in beyond)] if reach > 1 else []
    found += [math.inf, -math.inf] if reach > 2 else []
    found += [math.nan] if reach > 3 else []
    return found
