"""How many steps of its scale a quantised result is off (docs/numbers.md, "Reduced precision")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench_plugin.compare.measures import scale_of
from bench_plugin.compare.table import DEFAULTS, Table
from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison, unverified
from bench_plugin.domain.outcome import Unverified

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Steps:
    """``within`` is the share (of 1) of elements at most one step off, ``largest`` the largest distance in steps."""

    within: float
    largest: float
    elements: int


def steps(actual: Array, truth: Array, scale: float = 1.0) -> Steps:
    """Distance of ``actual`` from ``truth`` in steps of ``scale``; both are [N, ...], of one shape and not empty.

    ``scale`` is the step in the unit of the arrays: 1 for integers, the quantisation scale for dequantised values.
    """
    off = np.abs(np.asarray(actual, dtype=np.float64) - np.asarray(truth, dtype=np.float64)) / scale
    slack = 1e-3  # float32 arithmetic around whole steps
    return Steps(float((off <= 1 + slack).mean()), float(off.max()), int(off.size))


def compare_layers(truth: Mapping[str, Array], actual: Mapping[str, Array], table: Table = DEFAULTS) -> Comparison:
    """The verdict on the layers of a quantised model, each of which got the integers of the truth as its input.

    ``truth`` and ``actual`` hold the integers [N, ...] after each layer, by the layer's name.
    """
    rows, wrong = [], []
    for name, expected in truth.items():
        if name not in actual or actual[name].shape != expected.shape:
            found = list(actual[name].shape) if name in actual else "nothing"
            return Comparison(MISMATCH, f"layer {name}: {found} instead of {list(expected.shape)}", {})
        if not expected.size:
            continue
        one = steps(actual[name], expected)
        rows.append({"name": name, "within_one_step": one.within, "largest_steps": one.largest})
        if one.within < table.quantised_share or one.largest > table.quantised_steps:
            wrong.append(f"layer {name}: {1 - one.within:.1%} of {one.elements} off by more than a step, up to "
                         f"{one.largest:.0f}")  # fmt: skip
    numbers = {"layers": len(rows), "layers_wrong": len(wrong), "worst_steps": _worst(rows), "per_layer": rows}
    if not rows:
        return unverified(Unverified.NO_REFERENCE, "no quantised layer to compare", numbers)
    return Comparison(MISMATCH, "; ".join(wrong[:3]), numbers) if wrong else Comparison(AGREE, "", numbers)


def compare_stable(
    truth: Mapping[str, Array], perturbed: Sequence[Mapping[str, Array]], actual: Mapping[str, Array],
    scales: Sequence[float | None], table: Table = DEFAULTS,
) -> Comparison:  # fmt: skip
    """The verdict end to end, on the stable inputs: those whose rounding does not depend on the last bit.

    ``truth``, each run of ``perturbed`` and ``actual`` hold floating-point [N, ...] and are matched by position. An
    input is stable when no perturbed run moves any of its outputs by half a step or more. ``scales`` holds the step of
    every output, or None for one that is not dequantised: there the fp32 cap times the root mean square of what
    changes over the inputs takes the place of a step.
    """
    if len(actual) < len(truth):
        return Comparison(MISMATCH, f"{len(actual)} outputs where {len(truth)} are needed", {})
    rows, reasons, counts = [], [], []
    for (name, expected), found, scale in zip(truth.items(), actual.values(), scales, strict=False):
        if found.shape != expected.shape:
            return Comparison(MISMATCH, f"{name}: shape {list(found.shape)}, expected {list(expected.shape)}", {})
        if not expected.size or not np.isfinite(expected).all():
            continue
        unit = scale if scale is not None else table.row("fp32").cap * scale_of(expected).rms
        stable = _stable(expected, [run[name] for run in perturbed if name in run], unit)
        counts.append(int(stable.sum()))
        if not stable.any() or unit == 0:
            continue
        one = steps(found[stable], expected[stable], unit)
        rows.append({"name": name, "within_one_step": one.within, "largest_steps": one.largest, "step": unit})
        if one.within < table.quantised_share or not one.largest <= table.quantised_steps:
            reasons.append(f"{name}: {1 - one.within:.1%} off by more than a step, up to {one.largest:.1f}")
    numbers = {"stable_inputs": min(counts, default=0), "end_to_end": rows}
    if reasons:
        return Comparison(MISMATCH, "; ".join(reasons), numbers)
    if not rows:
        return unverified(Unverified.ILL_CONDITIONED, "no input whose rounding is stable", numbers)
    return Comparison(AGREE, "", numbers)


def _stable(expected: Array, perturbed: Sequence[Array], unit: float) -> Array:
    axes = tuple(range(1, expected.ndim))
    stable = np.ones(len(expected), dtype=bool)
    for run in perturbed:
        stable &= (np.abs(run - expected) < 0.5 * unit).all(axis=axes)
    return stable


def killed_in_steps(
    truth: Mapping[str, Array], mutant: Mapping[str, Array], scales: Sequence[float | None], table: Table = DEFAULTS
) -> dict[str, Any] | None:
    """Whether the rule of :func:`compare_stable` would detect a mutant; None where no output can be measured.

    ``truth`` and ``mutant`` hold [N, ...] and are matched by position with ``scales``, as there. ``killed`` is true
    where the mutant is detected, ``ratio`` is its largest distance over the permitted one.
    """
    worst, killed, judged = 0.0, False, False
    for expected, found, step in zip(truth.values(), mutant.values(), scales, strict=False):
        if not expected.size or not np.isfinite(expected).all():
            continue
        scale = step if step is not None else table.row("fp32").cap * scale_of(expected).rms
        if scale == 0:
            continue
        judged = True
        if found.shape != expected.shape or not np.isfinite(found).all():
            return {"killed": True, "ratio": 1e9}
        one = steps(found, expected, scale)
        killed |= one.within < table.quantised_share or one.largest > table.quantised_steps
        worst = max(worst, one.largest / table.quantised_steps)
    return {"killed": killed, "ratio": worst} if judged else None


def sqnr(actual: Array, truth: Array) -> float | None:
    """Ratio of signal to quantisation noise in dB, 10 log10(sum T^2 / sum (Y - T)^2), of two arrays of one shape [...].

    None where there is no noise or no signal.
    """
    t = np.asarray(truth, dtype=np.float64)
    noise = float(np.square(np.asarray(actual, dtype=np.float64) - t).sum())
    signal = float(np.square(t).sum())
    return 10 * float(np.log10(signal / noise)) if noise > 0 and signal > 0 else None


def _worst(rows: Sequence[Mapping[str, Any]]) -> float:
    return max((float(row["largest_steps"]) for row in rows), default=0.0)
