"""The inferred precision of a result: that of the emulation whose error is nearest to the result's own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from bench_plugin.compare.measures import distance, scale_of

WRONG = 1.0  # an E from here on is that of a wrong result: no rounding explains it
LIKE = 0.3  # likeness from which on an error is that of a precision: tools round in other places than the emulation
LIKE_WEIGHTS = 0.8  # of weights, which are rounded in one place only
AS_LARGE = 10.0  # times an emulation's error, or one over it, that an error of the same kind may be
WEIGHTS = frozenset({"w16", "wbf16"})  # emulations that round weights alone
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


def likeness(truth: Mapping[str, Array], actual: Mapping[str, Array], emulated: Mapping[str, Array]) -> float:
    """The cosine between the errors of a result and of an emulation, of the output that the result has most wrong.

    Near 1 where a tool rounds as the emulation does, and near 0 for any other mistake of the same size. All hold
    [N, ...], of which the inputs that all have are used; outputs are matched by position. 0 where nothing can be said,
    and where one error is more than :data:`AS_LARGE` times as large as the other.
    """
    worst, found = -1.0, 0.0
    for expected, have, other in zip(truth.values(), actual.values(), emulated.values(), strict=False):
        count = min(len(have), len(other))
        want = expected[:count]
        if want.dtype.kind != "f" or want.shape != have[:count].shape or want.shape != other[:count].shape:
            continue
        mine, theirs = (one[:count].astype(np.float64) - want for one in (have, other))
        ours, others = float(np.linalg.norm(mine)), float(np.linalg.norm(theirs))
        share = distance(have[:count], want, scale_of(expected)).E if want.size else 0.0
        if math.isfinite(ours * others) and ours * others > 0 and share > worst:
            alike = max(ours, others) <= AS_LARGE * min(ours, others)
            worst, found = share, float((mine * theirs).sum()) / (ours * others) if alike else 0.0
    return found


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
