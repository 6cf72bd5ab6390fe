"""The verdict on a run: every output is compared with its truth (docs/numbers.md, "The table" and "Edges").

A run with nothing to compare, or with an output that is missing or has the wrong shape, never passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bench_plugin.compare.measures import INTEGERS, differing, distance, scale_of_first, top_agreement
from bench_plugin.compare.noise import Noise, Tolerance, tolerance
from bench_plugin.compare.table import DEFAULTS, Row, Table
from bench_plugin.domain.outcome import Unverified

Array = np.ndarray[Any, Any]

AGREE, MISMATCH, UNVERIFIED = "agree", "mismatch", "unverified"
SMALLEST_NORMAL = {"fp32": 2.0**-126, "fp16": 2.0**-14, "bf16": 2.0**-126}
LARGEST = {"fp16": 65504.0}
FLAT = 1e-12  # of the size of an output in float64: what changes less over the inputs is rounding


@dataclass(frozen=True)
class Comparison:
    """``status`` is agree, mismatch or unverified, ``reason`` is one line, ``notes`` are remarks that do not decide.

    ``numbers`` is plain data for the row: the figures of the worst output and, under ``outputs``, those of each.
    ``kind`` says why a comparison is unverified. ``rule`` judges other outputs as this comparison did, where it can.
    """

    status: str
    reason: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    kind: Unverified | None = None
    rule: Rule | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Rule:
    """By what outputs were judged: the arguments of :func:`compare`. ``truth`` holds [N, ...] of each output."""

    truth: Mapping[str, Array]
    noise: Mapping[str, Noise]
    precision: str
    loose: bool
    table: Table

    def judge(self, actual: Mapping[str, Array]) -> Comparison:
        """The verdict on other outputs: [n, ...] for the first n inputs, 2 <= n <= N."""
        count = min((len(values) for values in actual.values() if values.ndim), default=0)
        part = {name: values[:count] for name, values in self.truth.items()}
        return compare(
            part, actual, self.noise, precision=self.precision, loose=self.loose, table=self.table, whole=self.truth
        )


def unverified(
    kind: Unverified, reason: str, numbers: Mapping[str, Any] | None = None, notes: tuple[str, ...] = ()
) -> Comparison:
    """A comparison that proves nothing."""
    return Comparison(UNVERIFIED, reason, numbers or {}, notes, kind)


@dataclass(frozen=True)
class Limits:
    """What an output may differ by: its noise, and the rows of the table that make a tolerance of it.

    ``whole`` is its truth [N, ...] of all inputs, of which the first are compared: it gives the unit of distances.
    """

    whole: Array
    noise: Noise
    row: Row
    strict: Row
    usual: Row

    @property
    def tolerance(self) -> Tolerance:
        """The tolerance of the output, not of a part of it."""
        return self.of(self.noise)

    def of(self, noise: Noise) -> Tolerance:
        """The tolerance of what has this noise."""
        return tolerance(noise, self.row, self.strict, self.usual)


@dataclass(frozen=True)
class _One:
    status: str
    reason: str
    numbers: dict[str, Any]
    notes: tuple[str, ...]
    kind: Unverified | None = None


def compare(
    truth: Mapping[str, Array],
    actual: Mapping[str, Array],
    noise: Mapping[str, Noise],
    *,
    precision: str = "fp32",
    loose: bool = False,
    table: Table = DEFAULTS,
    whole: Mapping[str, Array] | None = None,
) -> Comparison:
    """Compare outputs by position, because exporters may change names, but not the number or the order.

    ``truth`` and ``actual`` hold [N, ...] arrays over the same N inputs. A float64 truth is compared within the
    tolerance, strings exactly, integers and booleans by the share that differs, but at fp32 exactly unless noise
    changes some of them; ``noise`` is by the truth's names. ``precision`` is fp32, fp16 or bf16. ``loose`` permits the
    fast-math tolerance; it is used, and noted, only where the run fails without it. ``whole`` holds the truth of all
    inputs where ``truth`` holds the first of them alone: distances are in its units.
    """
    every = truth if whole is None else whole
    found = _compare(truth, actual, noise, precision, False, table, every)
    if loose and found.status != AGREE:
        found = _compare(truth, actual, noise, precision, True, table, every)
    return replace(found, rule=Rule(truth, noise, precision, loose, table))


def _compare(
    truth: Mapping[str, Array], actual: Mapping[str, Array], noise: Mapping[str, Noise], precision: str, loose: bool,
    table: Table, whole: Mapping[str, Array],
) -> Comparison:  # fmt: skip
    names = list(truth)
    if len(actual) < len(names) or not names:
        return Comparison(MISMATCH, f"{len(actual)} outputs where {len(names)} are needed", {"outputs": []})
    row, strict, usual = table.row(precision, loose=loose), table.row(precision), DEFAULTS.row(precision)
    found = []
    for name, values in zip(names, actual.values(), strict=False):
        level = noise.get(name, Noise(0.0, 0.0, 0))
        limits = Limits(whole[name], level, row, strict, usual)
        found.append((name, _compare_one(truth[name], values, limits, precision, table)))
    notes = ["loose"] if loose else []
    notes += [f"{name}: {note}" if len(names) > 1 else note for name, one in found for note in one.notes]
    if len(actual) > len(names):
        notes.append(f"{len(actual) - len(names)} outputs more than the model has")
    return _summary(found, notes)


def _summary(found: Sequence[tuple[str, _One]], notes: Sequence[str]) -> Comparison:
    outputs = [{"name": name, "status": one.status, **one.numbers} for name, one in found]
    decided = next(
        (status for status in (MISMATCH, UNVERIFIED) if any(one.status == status for _, one in found)), AGREE
    )
    worst = max((row for row in outputs if row["status"] == decided), key=_excess)
    keys = ("E", "M", "tolerance_E", "tolerance_M", "noise_E", "noise_M", "max_abs", "max_rel", "cosine", "needed")
    numbers = {key: worst[key] for key in keys if key in worst}
    for status in (MISMATCH, UNVERIFIED):
        reasons = [f"{name}: {one.reason}" for name, one in found if one.status == status]
        if reasons:
            kind = next((one.kind for _, one in found if one.status == status), None)
            return Comparison(status, "; ".join(reasons[:3]), {**numbers, "outputs": outputs}, tuple(notes), kind)
    return Comparison(AGREE, "", {**numbers, "outputs": outputs}, tuple(notes))


def _excess(row: Mapping[str, Any]) -> float:
    error, limit = row.get("E"), row.get("tolerance_E")
    if error is None or not limit:
        return 0.0 if row["status"] == AGREE else float("inf")
    return float(error) / float(limit)


def _compare_one(truth: Array, actual: Array, limits: Limits, precision: str, table: Table) -> _One:
    if truth.shape != actual.shape:
        return _One(MISMATCH, f"shape {list(actual.shape)}, expected {list(truth.shape)}", {}, ())
    if truth.size == 0:
        return _One(UNVERIFIED, "no element to compare", {}, (), Unverified.NOT_SENSITIVE)
    if truth.dtype.kind != "f":
        rounds = truth.dtype.kind in INTEGERS and limits.noise.runs > 0
        if precision == "fp32":  # exact, but for integers that float32's own rounding decides
            rounds = rounds and limits.noise.E > 0 and differing(actual, truth) > 0
        return _counted(truth, actual, limits.tolerance if rounds else None, limits.noise)
    if actual.dtype.kind not in "f":
        return _One(MISMATCH, f"type {actual.dtype}, expected floating point", {}, ())
    return _floating(truth, actual, limits, precision, table)


def _counted(truth: Array, actual: Array, limit: Tolerance | None, noise: Noise) -> _One:
    """Integers, booleans and strings: all equal, or where there is a ``limit`` all but that share of the elements."""
    integers = truth.dtype.kind in INTEGERS
    if actual.dtype.kind not in (INTEGERS if integers else truth.dtype.kind):
        return _One(MISMATCH, f"type {actual.dtype}, expected {truth.dtype}", {}, ())
    changed = integers and actual.dtype != truth.dtype
    notes = (f"dtype-changed: {truth.dtype} to {actual.dtype}",) if changed else ()
    share = differing(actual, truth)
    numbers: dict[str, Any] = {"wrong": round(share * truth.size)}
    said = f"{numbers['wrong']} of {truth.size} elements differ"
    if limit is None:
        return _One(MISMATCH, said, numbers, notes) if share else _One(AGREE, "", numbers, notes)
    numbers |= {"E": share, "tolerance_E": limit.E, "noise_E": noise.E, "needed": share / limit.E}
    if limit.unreachable:
        return _One(MISMATCH, f"{said}, but {limit.unreachable}", numbers, notes)
    if share > max(limit.E, limit.reach if limit.ill_conditioned else 0.0):
        return _One(MISMATCH, f"{said}, more than {limit.E:.2g} of them (noise {noise.E:.2g})", numbers, notes)
    if limit.ill_conditioned:
        reason = f"ill-conditioned: {said}, and {noise.E:.1%} where nothing is wrong"
        return _One(UNVERIFIED, reason, numbers, notes, Unverified.ILL_CONDITIONED)
    return _One(AGREE, "", numbers, notes)


def _floating(truth: Array, actual: Array, limits: Limits, precision: str, table: Table) -> _One:
    limit, noise = limits.tolerance, limits.noise
    t = np.asarray(truth, dtype=np.float64)
    y = np.asarray(actual, dtype=np.float64)
    counts = {"nan": int(np.isnan(y).sum()), "inf": int(np.isinf(y).sum())}
    if not np.isfinite(t).all():
        return _One(UNVERIFIED, "the truth is not finite", counts, (), Unverified.NO_REFERENCE)
    beyond = float(np.abs(t).max()) > LARGEST.get(precision, np.inf)
    if counts["nan"] or counts["inf"]:
        if beyond and not counts["nan"]:
            reason = f"range: the truth exceeds {precision}"
            return _One(UNVERIFIED, reason, counts, ("range",), Unverified.ILL_CONDITIONED)
        return _One(MISMATCH, f"{counts['nan']} NaN and {counts['inf']} Inf in {y.size} elements", counts, ())
    notes = []
    flushed = (y == 0) & (t != 0) & (np.abs(t) < SMALLEST_NORMAL[precision])
    if flushed.any():
        if not y.any() and (flushed | (t == 0)).all():
            reason = "nothing but numbers flushed to zero"
            return _One(UNVERIFIED, reason, counts, ("ftz",), Unverified.NOT_SENSITIVE)
        notes.append("ftz")
        y = np.where(flushed, t, y)
    scale = scale_of_first(t, limits.whole)
    found = distance(y, t, scale)
    numbers: dict[str, Any] = {
        "E": found.E, "M": found.M, "tolerance_E": limit.E, "tolerance_M": limit.M, "noise_E": noise.E,
        "noise_M": noise.M, "max_abs": found.max_abs, "max_rel": found.max_rel, "cosine": found.cosine,
        "elements": int(t.size), **counts,
    }  # fmt: skip
    if scale.norm <= FLAT * float(np.linalg.norm(t)) or len(t) < 2:
        numbers = {key: value for key, value in numbers.items() if value == value and abs(value) != float("inf")}
        reason = "the truth does not change over the inputs, so nothing would be proven"
        return _One(UNVERIFIED, reason, numbers, (), Unverified.NOT_SENSITIVE)
    if noise.runs == 0:
        reason = "the noise of this precision was not measured"
        return _One(UNVERIFIED, reason, numbers, (), Unverified.NO_REFERENCE)
    agreement, excluded = top_agreement(y, t, limit.M * scale.rms)
    said = agreement if excluded <= table.excluded_share else None
    numbers |= {"top_agreement": said, "top_excluded": excluded}
    numbers["needed"] = max(found.E / limit.E, found.M / limit.M)
    with np.errstate(over="ignore"):
        numbers["bit_identical"] = bool(np.array_equal(np.asarray(truth, dtype=actual.dtype), actual))
    if limit.unreachable:
        return _One(MISMATCH, f"E {found.E:.2e}, but {limit.unreachable}", numbers, tuple(notes))
    if found.E <= limit.E and found.M <= limit.M:
        if limit.ill_conditioned:
            reason = f"ill-conditioned: noise {noise.E:.1e} leaves no room below the cap"
            excused = _One(UNVERIFIED, reason, numbers, tuple(notes), Unverified.ILL_CONDITIONED)
            return _with_parts(excused, t, y, limits)
        return _with_parts(_One(AGREE, "", numbers, tuple(notes)), t, y, limits)
    if limit.ill_conditioned and limit.reach >= found.E:  # what lies beyond the noise is wrong, however large it is
        reason = f"ill-conditioned: noise {noise.E:.1e}, E {found.E:.1e}"
        excused = _One(UNVERIFIED, reason, numbers, tuple(notes), Unverified.ILL_CONDITIONED)
        return _with_parts(excused, t, y, limits)
    if limit.ill_conditioned:
        reason = f"E {found.E:.2e} is beyond the noise {noise.E:.1e} of this model (up to {limit.reach:.1e} is excused)"
        return _One(MISMATCH, reason, numbers, tuple(notes))
    which = f"E {found.E:.2e} > {limit.E:.2e}" if found.E > limit.E else f"M {found.M:.2e} > {limit.M:.2e}"
    return _One(MISMATCH, f"{which} (noise {noise.E:.1e}, max abs {found.max_abs:.2e})", numbers, tuple(notes))


def _with_parts(whole: _One, t: Array, y: Array, limits: Limits) -> _One:
    """What was said of a whole output, unless a part of it that is far smaller is wrong by its own noise."""
    rows, wrong, needed = [], [], whole.numbers.get("needed", 0.0)
    for part, noise in limits.noise.parts.items():
        truth = part.of(t)
        scale = scale_of_first(truth, part.of(limits.whole))
        if scale.norm == 0 or noise.runs == 0:
            continue
        found, limit = distance(part.of(y), truth, scale), limits.of(noise)
        allowed = max(limit.E, limit.reach) if limit.ill_conditioned else limit.E
        worst = found.E / allowed if limit.ill_conditioned else max(found.E / allowed, found.M / limit.M)
        rows.append({"elements": str(part), "E": found.E, "M": found.M, "tolerance_E": allowed, "noise_E": noise.E})
        needed = max(needed, worst)
        if worst > 1:
            wrong.append(f"{part}: E {found.E:.2e}, M {found.M:.2e} (noise {noise.E:.1e})")
    if not rows:
        return whole
    numbers = {**whole.numbers, "parts": rows, "needed": needed}
    return _One(MISMATCH, "; ".join(wrong), numbers, whole.notes) if wrong else replace(whole, numbers=numbers)
