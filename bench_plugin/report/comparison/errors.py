"""Numbers of a cell that moved: the error as a ratio above its noise, distances in decibels, accuracy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench_plugin.report.comparison.direction import PROGRESS, REGRESSION
from bench_plugin.report.comparison.paired import Pair
from bench_plugin.report.entries import Entry

FACTOR = 2.0
ACCURACY = 0.01  # of the test set; the confidence interval of a row's own drop says more (docs/results.md)


@dataclass(frozen=True)
class NumberChange:
    """A number that moved. ``measure`` is ``E``, ``sqnr_db``, ``worst_steps`` or ``accuracy``.

    ``ratio`` is after / before, None where one of them is 0 or the measure has none; ``decibels`` is the same ratio of
    amplitudes in dB, or the difference of two levels, positive where the error grew.
    """

    measure: str
    direction: str
    cell: Mapping[str, Any]
    before: float
    after: float
    ratio: float | None
    decibels: float | None
    key: str
    versions: Mapping[str, tuple[str, str]]


def changes(pair: Pair, factor: float = FACTOR) -> Iterator[NumberChange]:
    """The numbers of a cell that moved by ``factor``, which is above 1, or by as many decibels."""
    yield from _by_ratio(pair, "E", pair.base.error, pair.head.error, max(_noise(pair.base), _noise(pair.head)), factor)
    steps = pair.base.numbers.get("worst_steps"), pair.head.numbers.get("worst_steps")
    yield from _by_ratio(pair, "worst_steps", steps[0], steps[1], 0.0, factor)
    yield from _by_level(pair, 20 * math.log10(factor))
    before, after = (one.numbers.get("accuracy") for one in (pair.base, pair.head))
    if before is not None and after is not None and abs(after - before) >= ACCURACY:
        yield _change(pair, "accuracy", after < before, (before, after), None, None)


def _by_ratio(
    pair: Pair, measure: str, before: float | None, after: float | None, noise: float, factor: float
) -> Iterator[NumberChange]:
    """A number below the noise of the cell is taken for that noise: there is nothing to see."""
    if before is None or after is None:
        return
    old, new = max(before, noise), max(after, noise)
    if old == new or (old and new and 1 / factor < new / old < factor):
        return
    ratio = after / before if before and after else None
    yield _change(pair, measure, new > old, (before, after), ratio, 20 * math.log10(ratio) if ratio else None)


def _by_level(pair: Pair, least: float) -> Iterator[NumberChange]:
    """Signal to noise of a quantised graph against the unrounded model: more is better."""
    before, after = ((one.numbers.get("approximation") or {}).get("sqnr_db") for one in (pair.base, pair.head))
    if before is not None and after is not None and abs(after - before) >= least:
        yield _change(pair, "sqnr_db", after < before, (before, after), None, before - after)


def _change(
    pair: Pair, measure: str, worse: bool, values: tuple[float, float], ratio: float | None, decibels: float | None
) -> NumberChange:
    way = REGRESSION if worse else PROGRESS
    return NumberChange(measure, way, pair.head.cell, *values, ratio, decibels, pair.head.key, pair.versions)


def _noise(one: Entry) -> float:
    return float(one.numbers.get("noise_E") or 0.0)
