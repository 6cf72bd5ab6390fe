"""How many steps of its scale a quantised result is off (docs/numbers.md, "Reduced precision")."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench_plugin.compare.measures import scale_of
from bench_plugin.compare.table import DEFAULTS, Table
from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison, unverified
from bench_plugin.domain.outcome import Unverified

Array = np.ndarray[Any, Any]

ONE_STEP = 1 + 1e-3  # the slack is for float32 arithmetic around whole steps
# The least step of an output, in distances of two numbers of its type: kernels of float32 add and round several times.
LEAST_STEP = {np.dtype(np.float16): 1, np.dtype(np.float32): 4}
ROUNDINGS = 8  # to float32, that a layer which ends in floating point may be off
BROKEN = "another shape than the model's, NaN or Inf"
KINDS = "iub"  # kinds of dtypes that count steps; results of other kinds are not quantised

SINGLE_DB = 120.0  # what float32 leaves of a signal: an E of 1e-6


@dataclass(frozen=True)
class Steps:
    """``within`` is the share (of 1) of elements at most ``near`` steps off, ``largest`` the largest distance in steps.

    A distance that is not a number is within nothing, and makes ``largest`` not a number.
    """

    within: float
    largest: float
    elements: int


def steps(actual: Array, truth: Array, scale: float = 1.0, near: float = ONE_STEP) -> Steps:
    """Distance of ``actual`` from ``truth`` in steps of ``scale``; both are [N, ...], of one shape and not empty.

    ``scale`` is the step in the unit of the arrays: 1 for integers, the quantisation scale for dequantised values.
    """
    off = np.abs(np.asarray(actual, dtype=np.float64) - np.asarray(truth, dtype=np.float64)) / scale
    return Steps(float((off <= near).mean()), float(off.max()), int(off.size))


def compare_layers(
    unrounded: Mapping[str, Array],
    actual: Mapping[str, Array],
    exceptions: Mapping[str, str] | None = None,
    *,
    dynamic: Collection[str] = (),
    noise: Mapping[str, float] | None = None,
    ties: Mapping[str, Array] | None = None,
    table: Table = DEFAULTS,
) -> Comparison:
    """The verdict on the layers of a quantised model, each of which was fed the integers that the tool itself used.

    ``unrounded`` holds the float64 result [N, ...] of each layer by its name: in steps of its scale, clamped and not
    rounded, or in its own unit where the layer ends in floating point. ``actual`` holds what the tool made of the same
    integers. ``exceptions`` names the rounding of kernels that have one of their own, which ``unrounded`` holds for
    their layers; ``dynamic`` are the layers that round their inputs as they run. ``noise`` is the E of those by one
    rounding of their inputs to float32, where it is known: an input near a tie goes to either side. ``ties`` has the
    same of layers that end in integers: by how many steps each element [N, ...] may be off.
    """
    rows, wrong = [], []
    for name, expected in unrounded.items():
        if name not in actual or actual[name].shape != expected.shape:
            found = list(actual[name].shape) if name in actual else "nothing"
            return Comparison(MISMATCH, f"layer {name}: {found} instead of {list(expected.shape)}")
        if not expected.size:
            continue
        if actual[name].dtype.kind in KINDS:
            allowed = nearest(expected, actual[name], (ties or {}).get(name))
            row, objection = _layer(name, allowed, actual[name], table, (exceptions or {}).get(name, ""))
        else:
            one = (noise or {}).get(name, 0.0)
            row, objection = _layer_in_float(name, expected, actual[name], _limit(name in dynamic, one, table))
            row |= {"noise_E": one} if one else {}
        rows.append(row)
        wrong += [objection] if objection else []
    inputs = max((len(values) for values in unrounded.values()), default=0)
    numbers = {
        "layers": len(rows), "layer_inputs": inputs, "layers_wrong": len(wrong), "worst_steps": _worst(rows),
        "per_layer": rows,
    }  # fmt: skip
    if wrong:
        return Comparison(MISMATCH, "; ".join(wrong[:3]), numbers)
    if not dynamic and not any("largest_steps" in row for row in rows):
        return unverified(Unverified.NO_REFERENCE, "no quantised layer to compare", numbers)
    return Comparison(AGREE, "", numbers)


def nearest(expected: Array, found: Array, ties: Array | None) -> Array:
    """The results [N, ...] that are nearest to what was found, of those that ties may give."""
    if ties is None:
        return expected
    return expected + np.clip(np.asarray(found, dtype=np.float64) - expected, -ties, ties)


def _limit(dynamic: bool, noise: float, table: Table) -> float:
    """The largest E of a layer that ends in floating point; see :func:`compare_layers` for ``noise``."""
    if not dynamic:
        return table.quantised_float
    return max(table.quantised_dynamic, min(table.quantised_noise * noise, table.row("fp32").cap))


def _layer(name: str, expected: Array, found: Array, table: Table, exception: str = "") -> tuple[dict[str, Any], str]:
    """The row of one layer, and what is wrong with it; empty where nothing is.

    Elements whose unrounded result is not a number are left out: which integer stands for 0 / 0 is said nowhere.
    """
    known = ~np.isnan(expected)
    undefined = {} if known.all() else {"undefined": int((~known).sum())}
    if not known.any():
        return {"name": name, **undefined}, ""
    one = steps(found[known], expected[known], near=table.quantised_near)
    row: dict[str, Any] = {"name": name, "within": one.within, "largest_steps": one.largest, **undefined}
    row |= {"exception": exception} if exception else {}
    if one.within >= table.quantised_layer_share and one.largest <= table.quantised_far:
        return row, ""
    return row, (
        f"layer {name}: {1 - one.within:.1%} of {one.elements} more than {table.quantised_near:g} step from the "
        f"unrounded result, up to {one.largest:.3g}"
    )


def _layer_in_float(name: str, expected: Array, found: Array, limit: float) -> tuple[dict[str, Any], str]:
    """The row of one layer that ends in floating point, and what is wrong with it.

    Rounding the exact result once to float32 may change more than ``limit`` does, as where a mask of -10,000 is added,
    or where a mean of many varies little: no float32 kernel is closer, and one that adds rounds several times.
    """
    if not np.isfinite(expected).all():
        return {"name": name, "E": None}, ""
    norm = scale_of(expected).norm or float(np.linalg.norm(expected)) or 1.0
    error, single = (float(np.linalg.norm(values - expected)) / norm for values in (
        np.asarray(found, dtype=np.float64), expected.astype(np.float32).astype(np.float64)
    ))  # fmt: skip
    limit = max(limit, ROUNDINGS * single)
    return {"name": name, "E": error}, "" if error <= limit else f"layer {name}: E {error:.2e} > {limit:.1e} in float"


def compare_shapes(truth: Mapping[str, Array], actual: Mapping[str, Array]) -> Comparison:
    """The verdict on the number of outputs [N, ...] and on their shapes, which no rounding changes; by position."""
    if len(actual) < len(truth):
        return Comparison(MISMATCH, f"{len(actual)} outputs where {len(truth)} are needed")
    for (name, expected), found in zip(truth.items(), actual.values(), strict=False):
        if found.shape != expected.shape:
            return Comparison(MISMATCH, f"{name}: shape {list(found.shape)}, expected {list(expected.shape)}")
    return Comparison(AGREE)


def compare_stable(
    truth: Mapping[str, Array], perturbed: Sequence[Mapping[str, Array]], actual: Mapping[str, Array],
    scales: Sequence[float | None], table: Table = DEFAULTS,
) -> Comparison:  # fmt: skip
    """The verdict end to end, on the stable inputs: those whose rounding does not depend on the last bit.

    ``truth``, each run of ``perturbed`` and ``actual`` hold [N, ...] and are matched by position. An input is stable
    when no perturbed run moves any of its outputs by half a step or more, or changes an integer or a Boolean.
    ``scales`` holds the step of every output, or None for one that is not dequantised; :func:`_unit` takes its place.
    A step is at least what the type of the run can tell apart (:func:`_spacing`). Outputs without a stable input are
    not compared and named as ``not_stable``: nothing is said of a run then, unless another output is wrong.
    """
    shapes = compare_shapes(truth, actual)
    if shapes.status == MISMATCH:
        return shapes
    rows, reasons, counts, left = [], [], [], []
    for (name, expected), found, scale in zip(truth.items(), actual.values(), scales, strict=False):
        if not expected.size or not np.isfinite(expected).all():
            continue
        unit = max(_unit(expected, scale, table), _spacing(expected, found))
        stable = _stable(expected, [run[name] for run in perturbed if name in run], unit)
        counts.append(int(stable.sum()))
        if not stable.any():
            left.append(name)
            continue
        one = steps(found[stable], expected[stable], unit)
        rows.append({"name": name, "within_one_step": one.within, "largest_steps": one.largest, "step": unit})
        if one.within < table.quantised_share or not one.largest <= table.quantised_steps:
            much = "a step" if scale is not None else f"{unit:.2g}"
            of_it = f"{one.largest:.1f}" if scale is not None else f"{one.largest * unit:.2g}"
            reasons.append(f"{name}: {1 - one.within:.1%} off by more than {much}, up to {of_it}")
    numbers: dict[str, Any] = {"stable_inputs": min(counts, default=0), "end_to_end": rows}
    numbers |= {"not_stable": left} if left else {}
    if reasons:
        return Comparison(MISMATCH, "; ".join(reasons), numbers)
    if left or not rows:
        of_some = f" in {', '.join(left)}" if rows else ""
        return unverified(Unverified.ILL_CONDITIONED, f"no input whose rounding is stable{of_some}", numbers)
    return Comparison(AGREE, "", numbers)


def same_bits(truth: Mapping[str, Array], actual: Mapping[str, Array]) -> bool:
    """Whether every output of ``actual`` is that of ``truth``, both [N, ...], rounded to its own type; by position.

    It is what a graph in fixed point asks for: its sums are exact, so that one result is right whatever is stable.
    """
    return len(actual) >= len(truth) and all(
        found.shape == expected.shape and np.array_equal(found, expected.astype(found.dtype))
        for expected, found in zip(truth.values(), actual.values(), strict=False)
    )


def accumulated(plain: Mapping[str, Array], truth: Mapping[str, Array], actual: Mapping[str, Array]) -> float:
    """How far a run is from its quantised graph, over how far that graph is from the unrounded model; no unit.

    ``plain`` (of the unrounded model), ``truth`` (of the quantised graph) and ``actual`` hold [N, ...] and are matched
    by position. The distance is the Euclidean norm, of integers how many elements differ. The output where the ratio is
    largest counts. It is infinite where an output is missing, has another shape or is not finite, and where only the
    run differs.
    """
    if min(len(plain), len(actual)) < len(truth):
        return math.inf
    worst = 0.0
    for unrounded, expected, found in zip(plain.values(), truth.values(), actual.values(), strict=False):
        if not unrounded.shape == expected.shape == found.shape or not np.isfinite(found).all():
            return math.inf
        if expected.dtype.kind != "f":
            run, rounding = (float(np.count_nonzero(y != expected)) for y in (found, unrounded))
            worst = max(worst, run / max(rounding, 1.0))
            continue
        if not np.isfinite(expected).all():
            continue
        t = np.asarray(expected, dtype=np.float64)
        run, rounding = (float(np.linalg.norm(np.asarray(y, dtype=np.float64) - t)) for y in (found, unrounded))
        worst = max(worst, run / rounding if rounding else (math.inf if run else 0.0))
    return worst


def _unit(expected: Array, scale: float | None, table: Table) -> float:
    """The step of an output [N, ...]: its ``scale``, else the fp32 cap times the root mean square of what changes.

    Where nothing changes over the inputs it is that of all; of integers and Booleans the cap alone, so that any other
    value is many steps off.
    """
    if scale is not None:
        return scale
    cap = table.row("fp32").cap
    if expected.dtype.kind != "f":
        return cap
    return cap * (scale_of(expected).rms or float(np.sqrt(np.square(expected, dtype=np.float64).mean())) or 1.0)


def _spacing(expected: Array, found: Array) -> float:
    """The least step of an output of floating point, from the distance of two numbers of its type at its largest value.

    An output that hardly changes over the inputs would else have a step that no kernel keeps. 0 for other types.
    """
    distances = LEAST_STEP.get(found.dtype, 0)
    if not distances or expected.dtype.kind != "f":
        return 0.0
    return distances * float(np.spacing(np.abs(expected).max().astype(found.dtype)))


def _stable(expected: Array, perturbed: Sequence[Array], unit: float) -> Array:
    axes = tuple(range(1, expected.ndim))
    stable = np.ones(len(expected), dtype=bool)
    for run in perturbed:
        near = np.abs(run - expected) < 0.5 * unit if expected.dtype.kind == "f" else run == expected
        stable &= near.all(axis=axes)
    return stable


def killed_in_layer(
    unrounded: Array,
    mutant: Array,
    integers: bool,
    *,
    dynamic: bool = False,
    noise: float = 0.0,
    table: Table = DEFAULTS,
) -> dict[str, Any]:
    """Whether the rule of :func:`compare_layers` would detect a mutant of one layer.

    ``unrounded`` and ``mutant`` are float64 results [N, ...] of the layer, clamped and not rounded; where the layer's
    result is ``integers``, the mutant is judged after rounding; ``noise`` is that of :func:`compare_layers`. ``ratio``
    is its largest distance over the permitted one. It is not ``noticeable`` where a tool that rounds correctly, to
    integers or to float32, gives the same result.
    """
    if mutant.shape != unrounded.shape:
        return {"killed": True, "ratio": 1e9, "noticeable": True}
    if not integers:
        limit = _limit(dynamic, noise, table)
        row, objection = _layer_in_float("", unrounded, mutant, limit)
        seen = not np.array_equal(np.float32(unrounded), np.float32(mutant))
        return {"killed": bool(objection), "ratio": (row["E"] or 0.0) / limit, "noticeable": seen}
    found = np.rint(mutant)
    with np.errstate(invalid="ignore"):
        row, objection = _layer("", unrounded, found.astype(np.int64), table)
    seen = not np.array_equal(np.rint(unrounded), found, equal_nan=True)
    return {"killed": bool(objection), "ratio": row.get("largest_steps", 0.0) / table.quantised_far, "noticeable": seen}


def compare_by_approximation(
    own: Mapping[str, float | None], actual: Mapping[str, float | None], table: Table = DEFAULTS, *,
    integers: Collection[str] = (), unrounded: Collection[str] = (), far: float | None = None,
) -> Comparison:  # fmt: skip
    """The verdict where nothing could be read back: the ratio of signal to noise of every output, in dB.

    ``own`` is that of our own quantisation of the same model, ``actual`` that of the tool; None where a result has no
    noise, -inf for another shape, NaN and Inf. Outputs are matched by position. The output that falls shortest decides.
    Of our own more than ``SINGLE_DB`` counts as that: a tool that computes in float32 has no more.
    Where our own quantisation is so far off that zeros, with 0 dB, would pass, nothing can be said; that is no measure
    of ``integers``, outputs by their names in ``own``. An output that our own quantisation does not change, such as
    that of a file that is quantised already, is a mismatch where the tool's has less than ``approximation_db``.
    Where our own quantisation leaves operators ``unrounded`` that the tool may round, it is no lower limit: an output
    that falls short of it, and is better than ``approximation_db``, has none. So has one that falls short by at most
    ``far`` dB, where that is given: where a model chooses by its values, the inputs decide as much.
    """
    if not own or len(actual) < len(own):
        reason = f"{len(actual)} outputs to compare with the {len(own)} of our own quantisation"
        return unverified(Unverified.NO_REFERENCE, reason)
    pairs = [
        (name, ours, theirs)
        for (name, ours), theirs in zip(own.items(), actual.values(), strict=False)
        if theirs is not None
    ]
    useless = [(theirs, name) for name, ours, theirs in pairs if ours is None and theirs < table.approximation_db]
    if useless:
        theirs, name = min(useless)
        much = BROKEN if theirs == -math.inf else f"{theirs:.1f} dB, where our own quantisation changes nothing"
        return Comparison(MISMATCH, f"{name}: {much}")
    pairs = [(name, ours if ours is None else min(ours, SINGLE_DB), theirs) for name, ours, theirs in pairs]
    short = [(ours - theirs, name, ours, theirs) for name, ours, theirs in pairs if ours is not None]
    if not short:
        reason = (
            "our own quantisation changes no output, as of a file that is quantised already, and is no measure"
            if pairs
            else "no output of the run has any noise to compare with that of our own quantisation"
        )
        return unverified(Unverified.NO_REFERENCE, reason)
    worst, name, ours, theirs = max(short)
    # The mutants are held against this figure, and judged by their floating-point outputs alone.
    least, coarse = min(((one, key) for _, key, one, _ in short if key not in integers), default=(math.inf, ""))
    numbers = {"own_sqnr_db": least if coarse else ours, "short_of_own_db": worst}
    if theirs == -math.inf:
        return Comparison(MISMATCH, f"{name}: {BROKEN}", numbers)
    if worst <= table.approximation_db:
        if least <= table.approximation_db:
            reason = f"{coarse}: our own quantisation of the model has {least:.1f} dB, so that zeros would pass"
            return unverified(Unverified.ILL_CONDITIONED, reason, numbers)
        return Comparison(AGREE, "", numbers)
    reason = f"{name}: {theirs:.1f} dB, {worst:.1f} dB under our own quantisation of the same model ({ours:.1f} dB)"
    if unrounded and theirs > table.approximation_db:
        reason += f", which leaves {', '.join(sorted(unrounded))} in floating point"
        return unverified(Unverified.NO_REFERENCE, reason, numbers)
    if far is not None and worst <= far and theirs > table.approximation_db:
        reason += f": more than {table.approximation_db:g} dB, and too little to prove a mistake ({far:g} dB)"
        return unverified(Unverified.NO_REFERENCE, reason, numbers)
    return Comparison(MISMATCH, reason, numbers)


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
        judged = True
        if found.shape != expected.shape or not np.isfinite(found).all():
            return {"killed": True, "ratio": 1e9}
        one = steps(found, expected, _unit(expected, step, table))
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


def _worst(rows: Sequence[Mapping[str, Any]]) -> float | None:
    found = [float(row["largest_steps"]) for row in rows if "largest_steps" in row]
    return float(np.max(found)) if found else None  # not a number, where one of them is
