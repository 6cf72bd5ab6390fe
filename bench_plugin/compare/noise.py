"""The noise of a precision: how far apart right answers are, measured on the framework's own model.

The formulas are those of docs/numbers.md, "Noise" and "The table".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bench_plugin.compare.measures import INTEGERS, differing, distance, scale_of_first
from bench_plugin.compare.parts import Part, parts_of
from bench_plugin.compare.table import Row

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Noise:
    """The worst E and M (without a unit) of runs that are right by construction; ``runs`` counts the measured ones.

    Of an output of integers E is the share of the elements that differ. ``parts`` is the noise of parts of the output
    that are judged by themselves, too.
    """

    E: float
    M: float
    runs: int
    parts: Mapping[Part, Noise] = field(default_factory=dict)


@dataclass(frozen=True)
class Tolerance:
    """The largest E and M that agree. Neither has a unit.

    ``ill_conditioned`` is true where k times the noise exceeds the cap, so that agreement proves nothing; an E beyond
    ``reach``, which is k times the noise, is wrong all the same. ``unreachable`` is the reason why no run can pass a
    cap that a user tightened; otherwise it is empty.
    """

    E: float
    M: float
    ill_conditioned: bool
    unreachable: str = ""
    reach: float = math.inf


def measure_noise(truth: Array, runs: Iterable[Array], parts: Iterable[Part] | None = None) -> Noise:
    """The noise of one output: ``truth`` is [N, ...], and each run [n, ...] holds its first n <= N inputs.

    Distances are in units of all N inputs, in proportion to how large the results of the n are
    (:func:`scale_of_first`). Strings, and truths that are not finite, have no noise (``runs`` is 0); runs of another
    shape or with values that are not finite are left out. ``parts`` are those of the truth, unless they are given.
    """
    if truth.dtype.kind in INTEGERS and truth.size:
        return _of_integers(truth, runs)
    if truth.dtype.kind != "f" or not truth.size or not np.isfinite(truth).all():
        return Noise(0.0, 0.0, 0)
    usable = [run for run in runs if run.size and run.shape == truth[: len(run)].shape and np.isfinite(run).all()]
    own = parts_of(truth) if parts is None else parts
    found = {part: _of_floats(part.of(truth), [part.of(run) for run in usable]) for part in own}
    return replace(_of_floats(truth, usable), parts=found)


def _of_floats(truth: Array, runs: Sequence[Array]) -> Noise:
    worst_e = worst_m = 0.0
    for run in runs:
        part = truth[: len(run)]
        found = distance(run, part, scale_of_first(part, truth))
        worst_e, worst_m = max(worst_e, found.E), max(worst_m, found.M)
    return Noise(worst_e, worst_m, len(runs))


def larger(one: Mapping[str, Noise], other: Mapping[str, Noise]) -> dict[str, Noise]:
    """The noise of all runs of both, by output."""
    nothing = Noise(0.0, 0.0, 0)
    return {name: _larger(one.get(name, nothing), other.get(name, nothing)) for name in (*one, *other)}


def _larger(one: Noise, other: Noise) -> Noise:
    nothing = Noise(0.0, 0.0, 0)
    parts = {
        part: _larger(one.parts.get(part, nothing), other.parts.get(part, nothing))
        for part in (*one.parts, *other.parts)
    }
    return Noise(max(one.E, other.E), max(one.M, other.M), one.runs + other.runs, parts)


def _of_integers(truth: Array, runs: Iterable[Array]) -> Noise:
    parts = [(run, truth[: len(run)]) for run in runs if run.size]
    shares = [differing(run, part) for run, part in parts if run.shape == part.shape]
    return Noise(max(shares, default=0.0), 0.0, len(shares))


def tolerance(noise: Noise, row: Row, strict: Row | None = None, usual: Row | None = None) -> Tolerance:
    """The tolerance of one output: ``E <= min(cap, max(k nu_E, floor))`` and ``M <= max(2 k nu_M, 8 floor)``.

    ``strict`` is the row that a fast-math row widens: its k decides whether a model is ill-conditioned, so that a
    compiler's fast math cannot make one so. ``usual`` is the row without a user's changes: where a user's cap is
    below its cap and the noise exceeds it, the tolerance is ``unreachable``.
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
        reach=row.k * noise.E,
    )
