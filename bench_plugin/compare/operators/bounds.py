"""How far from its float64 reference an element may be: the bounds of the rules (docs/operators.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench_plugin.compare.operators.rules import Rule
from bench_plugin.compare.operators.values import FORMATS, NARROW, SINGLE, ulp

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

SUM_UNITS = 16.0  # the least k of k u S
ROOT_UNITS = 2.0  # k grows with the number n of terms as this times sqrt(n): roundings add up as a random walk does
SPREADS = 16.0


@dataclass(frozen=True)
class Truth:
    """What was recomputed in float64 for one output [...]; None where it was not.

    ``values`` and ``sums`` (the operator's result on absolute values, S in docs/operators.md) are float64 and have the
    output's shape. ``spread`` is the largest absolute change of the output when its inputs, and its sums of many terms,
    change by their roundings. ``terms`` is the largest number of terms of a sum.
    """

    values: Array | None = None
    sums: Array | None = None
    spread: float | None = None
    terms: int = 1


def sum_units(terms: int) -> float:
    """k of the bound k u S of a sum of so many terms, without a unit."""
    return max(SUM_UNITS, ROOT_UNITS * math.sqrt(terms))


def bound_text(dtype: str, truth: Truth, rule: Rule, loose: bool) -> str:
    """The tolerance that :func:`limits` gives, in a few characters: ``2.5 ULP``, ``161 u S``."""
    if rule.kind not in ("ulp", "sum"):
        return rule.text
    sums = f"{sum_units(truth.terms):.3g} u S"
    if dtype in NARROW:
        return f"1 ULP + {sums} of float32"
    return sums if rule.kind == "sum" else f"{_ulps(rule, loose):g} ULP"


def limits(dtype: str, true: Array, sums: Array, truth: Truth, rule: Rule, loose: bool) -> tuple[Array, Array | None]:
    """The tolerance of every element, and the wider one for sums that are accumulated in a narrow format itself.

    ``true`` and ``sums`` [...] are float64 of one shape and finite; both tolerances have that shape too.
    """
    import numpy as np

    form = FORMATS[dtype]
    unit = ulp(true, form)
    sums = np.where(np.isfinite(sums), sums, 0.0)
    units = sum_units(truth.terms)
    if rule.kind == "composite":
        spread = (truth.spread or 0.0) * (form.unit / SINGLE if dtype == "float64" else 1.0)
        peak = ulp(np.abs(true).max(initial=0.0), form)
        limit = np.broadcast_to(SPREADS * spread + rule.ulps * peak, true.shape)
        low = limit + SPREADS * spread * (form.unit / SINGLE) if dtype in NARROW else None
        return limit, low
    if dtype in NARROW:
        return unit + units * SINGLE * sums, unit + units * form.unit * sums if rule.kind == "sum" else None
    if rule.kind == "sum":
        return np.maximum(units * form.unit * sums, 2.0**form.lowest * form.unit), None
    return _ulps(rule, loose) * unit, None


def _ulps(rule: Rule, loose: bool) -> float:
    return rule.loose if loose and rule.loose else rule.ulps
