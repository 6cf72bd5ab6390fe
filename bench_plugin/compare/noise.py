"""How far right answers are apart: the noise of the claimed precision, measured on the framework's own model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench_plugin.compare.measures import distance, scale_of
from bench_plugin.compare.table import Row

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Noise:
    """The worst E and M of runs that are right by construction; ``runs`` is how many were measured."""

    E: float
    M: float
    runs: int


@dataclass(frozen=True)
class Tolerance:
    """What E and M may reach; ``ill_conditioned`` where k times the noise exceeds the cap: nothing is proven.

    ``unreachable`` says why no run could be relied on, where the cap is one that a user tightened; else it is empty.
    """

    E: float
    M: float
    ill_conditioned: bool
    unreachable: str = ""


def measure_noise(truth: Array, runs: Iterable[Array]) -> Noise:
    """Each run [n, ...] holds the first n of the truth's [N, ...] inputs; distances are in units of those n inputs.

    A run of fewer than two inputs changes nothing over its inputs, so the whole truth gives its unit. Outputs that are
    compared exactly, and truths that are not finite, have no noise.
    """
    if truth.dtype.kind != "f" or not truth.size or not np.isfinite(truth).all():
        return Noise(0.0, 0.0, 0)
    worst_e = worst_m = 0.0
    count = 0
    whole = scale_of(truth)
    for run in runs:
        part = truth[: len(run)]
        if not run.size or run.shape != part.shape or not np.isfinite(run).all():
            continue
        scale = scale_of(part) if len(run) > 1 else whole
        found = distance(run, part, scale)
        worst_e, worst_m = max(worst_e, found.E), max(worst_m, found.M)
        count += 1
    return Noise(worst_e, worst_m, count)


def tolerance(noise: Noise, row: Row, strict: Row | None = None, usual: Row | None = None) -> Tolerance:
    """``E <= min(cap, max(k nu_E, floor))`` and ``M <= max(2 k nu_M, 8 floor)``.

    ``strict`` is the row that a loose one widens: a model is not ill-conditioned because a compiler is fast.
    ``usual`` is the row without a user's changes: a cap below its cap is a demand that the model's noise must fit.
    """
    k = (strict or row).k
    ill_conditioned = k * noise.E > row.cap
    unreachable = ""
    if ill_conditioned and usual is not None and row.cap < usual.cap:
        unreachable = (
            f"the cap {row.cap:.1e} of this test's tolerance is tighter than the model's own noise allows: "
            f"{k:g} x noise {noise.E:.1e} = {k * noise.E:.1e}; raise the cap"
        )
    return Tolerance(
        E=min(row.cap, max(row.k * noise.E, row.floor)),
        M=max(2 * row.k * noise.M, 8 * row.floor),
        ill_conditioned=ill_conditioned,
        unreachable=unreachable,
    )
