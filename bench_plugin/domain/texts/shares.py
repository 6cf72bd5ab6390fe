"""A change of a time as a person reads it: by which share it grew or shrank, with its interval."""

from __future__ import annotations

import math


def share(d: float, half_width: float) -> str:
    """By which share a time changed, and the half-width of its 95 % interval as a share of the earlier time.

    Both arguments are of natural logarithms: ``d`` of the ratio of the two times, which is large where the change is.

    >>> share(math.log(2), 0.01)
    '+100.0% ± 2.0%'
    >>> share(-math.log(2), 0.01)
    '-50.0% ± 0.5%'
    """
    return f"{math.expm1(d):+.1%} ± {math.exp(d) * half_width:.1%}"
