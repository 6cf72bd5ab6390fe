"""The inferred precision of a result: that of the emulation whose error is nearest to the result's own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from bench_plugin.compare.measures import distance, scale_of

WRONG = 1.0  # an E from here on is that of a wrong result: no rounding explains it
FARTHEST = 4.0  # times the E of the coarsest emulation; beyond that no rounding explains it either

Array = np.ndarray[Any, Any]


def emulated_errors(truth: Mapping[str, Array], emulated: Mapping[str, Mapping[str, Array]]) -> dict[str, float]:
    """E of every emulation by name of its precision: the largest over its outputs, inf where one is not finite.

    ``truth`` holds float64 [N, ...], each emulation [n, ...] of the first n <= N inputs, matched by position.
    """
    return {name: _worst(truth, outputs) for name, outputs in emulated.items()}


def effective_by_error(
    truth: Mapping[str, Array], actual: Mapping[str, Array], errors: Mapping[str, float], count: int
) -> str:
    """The precision whose emulation has the nearest E by ratio, or "" where none can be inferred.

    None can be inferred from a wrong result: one whose E is :data:`WRONG` or more, or more than :data:`FARTHEST` times
    that of the coarsest emulation, or that has other shapes than the truth.

    ``truth`` and ``actual`` hold [N, ...]; only their first ``count`` inputs are used, those that ``errors`` (from
    :func:`emulated_errors`) were measured on. A result at most as wrong as the fp32 emulation is fp32.
    """
    mine = _worst(truth, {name: values[:count] for name, values in actual.items()})
    usable = {name: error for name, error in errors.items() if 0 < error < math.inf}
    if not usable or mine >= WRONG or mine > FARTHEST * max(usable.values()):
        return ""
    if mine <= usable.get("fp32", 0.0):
        return "fp32"
    return min(usable, key=lambda name: abs(math.log(mine / usable[name])))


def _worst(truth: Mapping[str, Array], outputs: Mapping[str, Array]) -> float:
    worst = math.inf if len(outputs) < len(truth) else 0.0
    for expected, found in zip(truth.values(), outputs.values(), strict=False):
        part = expected[: len(found)]
        if part.shape != found.shape:
            return math.inf
        if part.dtype.kind != "f" or not part.size:
            continue
        if not np.isfinite(found).all():
            return math.inf
        worst = max(worst, distance(found, part, scale_of(part)).E)
    return worst
