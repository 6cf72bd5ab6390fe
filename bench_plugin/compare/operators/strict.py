"""The verdict on an operator's outputs by its rule, against the result that was recomputed in float64."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bench_plugin.compare.operators import codes
from bench_plugin.compare.operators.bounds import Truth, bound_text, limits
from bench_plugin.compare.operators.rules import Rule
from bench_plugin.compare.operators.values import FORMATS, Tensor, Value, kind_of, whole

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

LOW_ACCUMULATOR = "low-precision accumulate"  # the note of what is right if a sum may be in a narrow type


@dataclass(frozen=True)
class Verdict:
    """``ratio`` is the largest error over its tolerance, None where none was measured; ``notes`` do not decide.

    ``by_bound`` says that it failed, but in nothing other than the distance of floating-point numbers: type, shape, NaN
    and Inf are right, and so is every whole number. ``of_values`` is false where a type, a shape or a count is wrong.
    ``outputs`` are the numbers of the outputs whose values are wrong. ``bound`` is the tolerance of ``ratio`` in a few
    characters.
    """

    passed: bool
    reason: str = ""
    ratio: float | None = None
    notes: tuple[str, ...] = ()
    by_bound: bool = False
    of_values: bool = True
    outputs: tuple[int, ...] = ()
    bound: str = ""


def strict(
    expected: Sequence[Value], actual: Sequence[Value], truths: Sequence[Truth], rule: Rule, *, loose: bool = False
) -> Verdict:
    """The verdict by ``rule`` on every output, matched by position. The shapes [...] are arbitrary, but must be equal.

    ``expected`` are the outputs of the test; where ``truths`` holds float64 values for an output, these are compared
    with instead. ``loose`` permits the limit of fast math.
    """
    if len(actual) != len(expected):
        return Verdict(False, f"{len(actual)} outputs, expected {len(expected)}", of_values=False)
    given = list(truths) + [Truth()] * (len(expected) - len(truths))
    pairs = enumerate(zip(expected, actual, given, strict=False))
    found = [_value(want, have, one, rule, loose, f"output {index}") for index, (want, have, one) in pairs]
    return replace(_joined(found), outputs=_wrong_values(found))


def _wrong_values(found: Sequence[Verdict]) -> tuple[int, ...]:
    return tuple(index for index, one in enumerate(found) if not one.passed and one.of_values)


def _joined(found: Sequence[Verdict]) -> Verdict:
    """The verdict on several values: of those that failed one whose failure is no matter of a bound, else the first."""
    notes = tuple(dict.fromkeys(note for one in found for note in one.notes))
    measured = sorted((one for one in found if one.ratio is not None), key=lambda one: one.ratio or 0.0)
    ratio, bound = (measured[-1].ratio, measured[-1].bound) if measured else (None, found[0].bound if found else "")
    wrong = sorted((one for one in found if not one.passed), key=lambda one: one.by_bound)
    return replace(wrong[0] if wrong else Verdict(True), ratio=ratio, notes=notes, bound=bound)


def _value(want: Value, have: Value, truth: Truth, rule: Rule, loose: bool, where: str) -> Verdict:
    if isinstance(want, Tensor) and isinstance(have, Tensor):
        return _tensor(want, have, truth, rule, loose, where)
    if isinstance(want, list) and isinstance(have, list):
        if len(want) != len(have):
            return Verdict(False, f"{where}: a sequence of {len(have)}, expected {len(want)}", of_values=False)
        pairs = enumerate(zip(want, have, strict=True))
        return _joined([_value(one, other, Truth(), rule, loose, f"{where}[{place}]") for place, (one, other) in pairs])
    if want is None and have is None:
        return Verdict(True)
    return Verdict(False, f"{where}: {kind_of(have)}, expected {kind_of(want)}", of_values=False)


def _tensor(want: Tensor, have: Tensor, truth: Truth, rule: Rule, loose: bool, where: str) -> Verdict:
    notes: tuple[str, ...] = ()
    if want.values.shape != have.values.shape:
        text = f"{where}: shape {list(have.values.shape)}, expected {list(want.values.shape)}"
        return Verdict(False, text, of_values=False)
    if want.dtype != have.dtype:
        if not (whole(want.dtype) and whole(have.dtype)):
            return Verdict(False, f"{where}: type {have.dtype}, expected {want.dtype}", of_values=False)
        notes = (f"dtype-changed: {want.dtype} to {have.dtype}",)
    if rule.kind == "random":
        return Verdict(True, notes=notes)
    if want.dtype not in FORMATS or rule.kind in ("movement", "exact"):
        return _equal(want, have, rule, where, notes)
    return _close(want, have, truth, rule, loose, where)


def _equal(want: Tensor, have: Tensor, rule: Rule, where: str, notes: tuple[str, ...]) -> Verdict:
    import numpy as np

    different = codes.different(want.dtype, want.values, have.values, signed_zero=rule.kind == "movement")
    if want.values.dtype.kind in "fc":
        different &= ~(np.isnan(want.values) & np.isnan(have.values))
        if rule.kind == "movement" and want.values.dtype.kind == "f":
            different |= (np.signbit(want.values) != np.signbit(have.values)) & ~np.isnan(want.values)
    count = int(np.count_nonzero(different))
    bound = "bitwise" if rule.kind == "movement" else "equal"
    if not count:
        return Verdict(True, notes=notes, bound=bound)
    place = _first(different)
    return Verdict(
        False,
        f"{where}: {count} of {want.values.size} elements differ, at {list(place)} "
        f"{have.values[place]!s} for {want.values[place]!s}",
        notes=notes,
        by_bound=want.dtype in FORMATS and not _in_other_places(want.values, have.values),
        bound=bound,
    )


def _in_other_places(want: Array, have: Array) -> bool:
    """Whether NaN, Inf or -Inf is in other places."""
    import numpy as np

    return any(bool((test(want) != test(have)).any()) for test in (np.isnan, np.isposinf, np.isneginf))


def _close(want: Tensor, have: Tensor, truth: Truth, rule: Rule, loose: bool, where: str) -> Verdict:
    import numpy as np

    form = FORMATS[want.dtype]
    true = (truth.values if truth.values is not None else want.values).astype(np.float64)
    got = have.values.astype(np.float64)
    notes: list[str] = []
    # What the format cannot hold is Inf in it; where the truth was recomputed, the test's own output says so too.
    beyond = np.abs(true) > form.largest
    infinite = np.isinf(true) | (beyond & np.isinf(want.values.astype(np.float64)))
    undefined = np.isnan(true)
    if (np.isnan(got) != undefined).any():
        return _wrong(np.isnan(got) != undefined, got, true, where, "NaN in other places")
    outside = infinite & ~undefined & ((np.sign(got) != np.sign(true)) | ~np.isinf(got))
    if outside.any():
        return _wrong(outside, got, true, where, "Inf in other places")
    if (beyond & ~infinite).any():
        notes.append("range")
    finite = ~(undefined | beyond | np.isinf(true))
    true, got = np.where(finite, true, 0.0), np.where(finite, got, 0.0)
    error = np.abs(got - true)
    error = np.where(np.isnan(error), math.inf, error)
    flushed = (got == 0) & (np.abs(true) < 2.0**form.lowest) & (error > 0)
    if flushed.any():
        notes.append("ftz")
        error = np.where(flushed, 0.0, error)
    sums = np.abs(true) if truth.sums is None else np.where(finite, np.abs(truth.sums), 0.0)
    limit, low = limits(want.dtype, true, sums, truth, rule, loose)
    bound = bound_text(want.dtype, truth, rule, loose)
    if (error <= limit).all():
        return Verdict(True, ratio=_ratio(error, limit), notes=tuple(notes), bound=bound)
    if low is not None and (error <= low).all():
        return Verdict(True, ratio=_ratio(error, low), notes=(*notes, LOW_ACCUMULATOR), bound=bound)
    found = _wrong(~(error <= limit), got, true, where, f"out of {bound}")
    finite_results = bool(np.isfinite(got).all())
    return replace(found, ratio=_ratio(error, limit), notes=tuple(notes), by_bound=finite_results, bound=bound)


def _wrong(wrong: Array, got: Array, true: Array, where: str, what: str) -> Verdict:
    import numpy as np

    place = _first(wrong)
    count = int(np.count_nonzero(wrong))
    text = f"{where}: {what}: {count} of {wrong.size} elements, at {list(place)} {got[place]:.9g} for {true[place]:.9g}"
    return Verdict(False, text)


def _ratio(error: Array, limit: Array) -> float:
    import numpy as np

    if not error.size:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(error > 0, error / limit, 0.0)
    return float(found.max())


def _first(wrong: Array) -> tuple[int, ...]:
    import numpy as np

    return tuple(int(index) for index in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
