"""The judge by approximation: signal to noise of what a tool quantised itself, and what its rule would notice."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from bench_plugin.compare.quantised import sqnr
from bench_plugin.compare.strength import FAR, Strength, located, rated, with_faults
from bench_plugin.compare.table import Table
from bench_plugin.pipeline.judging.judge import ORIGINAL, ReferenceOutputs, of_mutants, sites_of, unchanged
from bench_plugin.pipeline.judging.judge_quantised import numbered
from bench_plugin.pipeline.stages import Done

Array = np.ndarray[Any, Any]


def signal_to_noise(
    expected: Mapping[str, Array], actual: Mapping[str, Array], chosen: Collection[str] = (), *, own: bool = False
) -> dict[str, float | None]:
    """The ratio of signal to noise (dB) of every output [N, ...] by the name that it has in ``expected``.

    Outputs are matched by position; None where there is no noise, -inf for a wrong shape and for NaN and Inf. Of
    integers it is the share of the elements that differ, of one at least, taken as an amplitude. What belongs to an
    index of ``chosen`` (:func:`choices`) is compared where that is the same one.

    Few elements are counted by chance: of our ``own`` quantisation, where n differ, n + sqrt(n) + 1 may.
    """
    found = dict(zip(expected, actual.values(), strict=False))
    return {
        name: _distance(*_of_same_choice(name, expected, found, chosen), own=own)
        if values.shape == expected[name].shape and np.isfinite(values).all()
        else -np.inf
        for name, values in found.items()
    }


def choices(expected: Mapping[str, Array], operators: Collection[str]) -> list[str]:
    """The outputs [N, ...] that say which elements a TopK chose: integers, several of an input."""
    if "TopK" not in operators:
        return []
    return [name for name, values in expected.items() if values.dtype.kind in "iu" and values.size > len(values)]


def _of_same_choice(
    name: str, expected: Mapping[str, Array], found: Mapping[str, Array], chosen: Collection[str]
) -> tuple[Array, Array]:
    """An output of the reference and of the run, where both chose the same element: another one has other values."""
    truth, values = expected[name], found[name]
    for key in chosen:
        index = expected[key][: len(truth)]
        if truth.dtype.kind == "f" and key in found and found[key].shape == index.shape == truth.shape[: index.ndim]:
            same = found[key] == index
            if same.any():
                return truth[same], values[same]
    return truth, values


def _distance(truth: Array, values: Array, *, own: bool) -> float | None:
    if truth.dtype.kind == "f":
        return sqnr(values, truth)
    differ = int(np.count_nonzero(values != truth))
    counted = min(differ + math.sqrt(differ) + 1, truth.size) if own else max(differ, 1)
    return -20 * math.log10(counted / truth.size) if truth.size else None


def strength_by_noise(
    plain: ReferenceOutputs, runs: Sequence[Done], mutants: Done, least: float, chosen: Collection[str], table: Table
) -> Strength:
    """What the rule by approximation would notice in each of the ``runs``, where ``least`` dB are permitted.

    These are the run that was judged and our own quantisation, which is right: a run that is nearly a mismatch by
    itself is one with any mistake. The effect of each mutant is added to the outputs [N, ...] of a run, and taken away
    from them; the weakest one counts.
    """
    outputs = of_mutants(mutants, reduced=True)
    original = outputs.pop(ORIGINAL)
    count = int(mutants.meta["mutate"]["samples"])
    truth = {name: values[:count] for name, values in plain.outputs.items()}
    rows: dict[str, dict[str, Any]] = {}
    for run, sign in itertools.product(runs, (1, -1)):
        first = dict(zip(truth, (values[:count] for values in numbered(run.arrays).values()), strict=False))
        found = noisy(truth, with_faults(truth, first, original, outputs, sign=sign), least, chosen)
        for name, row in found.items():
            rows[name] = min(rows.get(name, row), row, key=lambda one: float(one["ratio"]))
    return rated(located(rows, sites_of(mutants)), unchanged=unchanged(mutants), exact=False, table=table)


def noisy(
    expected: Mapping[str, Array], faults: Mapping[str, Mapping[str, Array]], least: float, chosen: Collection[str] = ()
) -> dict[str, dict[str, Any]]:
    """For each mutant of the file, whether the signal to noise of an output is under the ``least`` one, in dB.

    ``expected`` and the outputs of each mutant hold [n, ...]. ``ratio`` is by what factor the noise exceeds what is
    permitted. ``chosen`` is as in :func:`signal_to_noise`.
    """
    found: dict[str, dict[str, Any]] = {}
    for mutant, outputs in faults.items():
        ratios = signal_to_noise(expected, {name: outputs.get(name, x) for name, x in expected.items()}, chosen)
        for name, values in outputs.items():
            truth, decibels = expected[name], ratios[name]
            if truth.dtype.kind != "f" or truth.shape != values.shape or np.array_equal(truth, values):
                continue
            ratio = 0.0 if decibels is None else min(10 ** ((least - decibels) / 20), FAR)
            before = found.get(mutant, {"killed": False, "ratio": 0.0})
            found[mutant] = max(before, {"killed": ratio > 1, "ratio": ratio}, key=lambda row: row["ratio"])
    return found
