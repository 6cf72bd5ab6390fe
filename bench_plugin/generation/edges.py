"""Edge values of a type: near 0 and 1, extreme, infinite, or not a number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

LEVELS = ("none", "mild", "finite", "infinite", "ieee")


def edge_values(dtype: str, level: str, low: float, high: float) -> list[Any]:
    """Edge values of a type as scalars, the simplest first; ``level`` is one of ``edges`` in catalogue.py.

    Values around 1 are included only where the operator's bounds ``low`` and ``high`` permit them.
    """
    reach = LEVELS.index(level)
    if dtype == "bool" or not reach:
        return []
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        near = [value for value in (0, 1, -1, 2) if max(low, limits.min) <= value <= high]
        return near + ([limits.max, limits.min] if reach > 1 else [])
    form = np.finfo(dtype)
    found = [value for value in (0.0, 1.0, -1.0, 0.5, -0.0) if low <= value <= high]
    beyond = [float(form.max), float(form.smallest_subnormal), float(form.tiny)]
    found += [*beyond, *(-value for value in beyond)] if reach > 1 else []
    found += [math.inf, -math.inf] if reach > 2 else []
    found += [math.nan] if reach > 3 else []
    return found
