"""When the result of a single operator is right (docs/operators.md, the table of rules).

There are two verdicts: ``strict`` compares with a result that was recomputed in float64, by a rule for each kind of
operator; ``stock`` compares with the outputs that ONNX's test holds, within the tolerance of ONNX's own test runner.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Union

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


class Tensor(NamedTuple):
    """An array [...] of any shape with the name of its ONNX type, such as float32.

    ``values`` has that dtype. bfloat16 is widened to float32; other types that numpy lacks are their integer codes.
    """

    dtype: str
    values: Array


Value = Union[Tensor, "list[Value]", None]


@dataclass(frozen=True)
class Rule:
    """``kind`` is movement, exact, ulp, sum, composite or random. Only kind ulp has a limit of its own, in ULP:
    ``ulps``, and ``loose`` under fast math (0 where fast math changes nothing).
    """

    kind: str
    ulps: float = 0.0
    loose: float = 0.0

    @property
    def need(self) -> str:
        """The field of :class:`Truth` that the rule needs: "value", "sum", "spread", or "" for none."""
        return {"ulp": "value", "sum": "sum", "composite": "spread"}.get(self.kind, "")

    @property
    def text(self) -> str:
        """The rule in a few characters, for messages and tables."""
        names = {"sum": "16 u S", "composite": "16 spread + 4 ULP", "movement": "bitwise", "exact": "equal"}
        return f"{self.ulps:g} ULP" if self.kind == "ulp" else names.get(self.kind, self.kind)


@dataclass(frozen=True)
class Truth:
    """What was recomputed in float64 for one output [...]; None where it was not.

    ``values`` and ``sums`` (the operator's result on absolute values, S in docs/operators.md) are float64 and have the
    output's shape. ``spread`` is the largest absolute change of the output when its inputs change by a rounding.
    """

    values: Array | None = None
    sums: Array | None = None
    spread: float | None = None


@dataclass(frozen=True)
class Verdict:
    """``ratio`` is the largest error over its tolerance, None where none was measured; ``notes`` do not decide."""

    passed: bool
    reason: str = ""
    ratio: float | None = None
    notes: tuple[str, ...] = ()


class Format(NamedTuple):
    """A binary floating-point format: bits of its fraction, exponent of its smallest normal number, largest value."""

    fraction: int
    lowest: int
    largest: float

    @property
    def unit(self) -> float:
        """Half a unit in the last place of 1: the unit roundoff u."""
        return float(2.0 ** -(self.fraction + 1))


FORMATS: Mapping[str, Format] = {
    "float16": Format(10, -14, 65504.0),
    "bfloat16": Format(7, -126, 3.3895313892515355e38),
    "float32": Format(23, -126, 3.4028234663852886e38),
    "float64": Format(52, -1022, 1.7976931348623157e308),
}
NARROW = ("float16", "bfloat16")
SINGLE = FORMATS["float32"].unit
SUM_UNITS = 16.0  # k of k u S
SPREADS = 16.0
COMPOSITE_ULPS = 4.0
RULES_HASH = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()  # a part of every row's key


def _names(text: str) -> list[str]:
    return text.split()


MOVEMENT = frozenset(
    _names(
        "BitCast CenterCropPad Compress Concat ConcatFromSequence Constant ConstantOfShape DepthToSpace Dropout Expand "
        "EyeLike Flatten Gather GatherElements GatherND Identity MaxUnpool NonZero OneHot Optional OptionalGetElement "
        "OptionalHasElement Pad Reshape ReverseSequence Scatter ScatterElements ScatterND SequenceAt SequenceConstruct "
        "SequenceEmpty SequenceErase SequenceInsert SequenceLength Shape Size Slice SpaceToDepth Split SplitToSequence "
        "Squeeze TensorScatter Tile Transpose Trilu Unique Unsqueeze Where"
    )
)
EXACT = frozenset(
    _names(
        "Abs And ArgMax ArgMin BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Clip "
        "ConvInteger DynamicQuantizeLinear Equal Floor GlobalMaxPool Greater GreaterOrEqual Hardmax IsInf IsNaN Less "
        "LessOrEqual MatMulInteger Max MaxPool MaxRoiPool Min Mod Neg NonMaxSuppression Not Or QLinearConv "
        "QLinearMatMul QuantizeLinear ReduceMax ReduceMin RegexFullMatch Relu Round Sign StringConcat "
        "StringNormalizer StringSplit TfIdfVectorizer ThresholdedRelu TopK Xor"
    )
)
SUMS = frozenset(
    _names(
        "AveragePool Col2Im Conv ConvTranspose CumSum CumProd Einsum Gemm GlobalAveragePool GlobalLpPool HardSigmoid "
        "LpPool MatMul Mean Range ReduceL1 ReduceL2 ReduceMean ReduceProd ReduceSum ReduceSumSquare Sum"
    )
)
ULPS: Mapping[str, Rule] = {
    **{name: Rule("ulp", 1.0) for name in ("Add", "Sub", "Mul", "DequantizeLinear", "LeakyRelu", "PRelu", "Shrink")},
    **{name: Rule("ulp", 1.0, 2.5) for name in ("Div", "Sqrt", "Reciprocal")},
    **{
        name: Rule("ulp", 4.0)
        for name in _names("Acos Acosh Asin Asinh Atan Atanh Cos Cosh Exp Log Sigmoid Sin Sinh Softsign Tan")
    },
    "Tanh": Rule("ulp", 5.0),
    "Pow": Rule("ulp", 16.0),
    "Erf": Rule("ulp", 16.0),
}
RANDOM = frozenset(_names("Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike"))

TRAINING_INPUT = 2  # of Dropout: training_mode, which makes it random


def rule_of(operators: Sequence[str], nodes: int, inputs: int) -> Rule:
    """The rule of a model: that of its operator for one node, composite for several.

    ``operators`` are the ONNX operator names of the nodes; ``inputs`` counts the inputs of the model.
    """
    training = nodes == 1 and operators[0] == "Dropout" and inputs > TRAINING_INPUT
    if training or RANDOM.intersection(operators):
        return Rule("random")
    if all(name in MOVEMENT for name in operators):
        return Rule("movement")
    if nodes == 1:
        name = operators[0]
        if name in EXACT:
            return Rule("exact")
        if name in SUMS:
            return Rule("sum")
        if name in ULPS:
            return ULPS[name]
    return Rule("composite")


def ulp(values: Array, form: Format) -> Array:
    """One ULP at each of ``values`` [...]: the distance to the next number of the format, float64 of the same shape."""
    import numpy as np

    _, exponents = np.frexp(values)
    found: Array = np.ldexp(1.0, np.maximum(exponents - 1, form.lowest) - form.fraction)
    return found


def strict(
    expected: Sequence[Value], actual: Sequence[Value], truths: Sequence[Truth], rule: Rule, *, loose: bool = False
) -> Verdict:
    """The verdict by ``rule`` on every output, matched by position. The shapes [...] are arbitrary, but must be equal.

    ``expected`` are the outputs of the test; where ``truths`` holds float64 values for an output, these are compared
    with instead. ``loose`` permits the limit of fast math.
    """
    if len(actual) != len(expected):
        return Verdict(False, f"{len(actual)} outputs, expected {len(expected)}")
    worst: float | None = None
    notes: dict[str, None] = {}
    for index, (want, have) in enumerate(zip(expected, actual, strict=True)):
        truth = truths[index] if index < len(truths) else Truth()
        one = _value(want, have, truth, rule, loose, f"output {index}")
        notes.update(dict.fromkeys(one.notes))
        if one.ratio is not None:
            worst = max(worst or 0.0, one.ratio)
        if not one.passed:
            return Verdict(False, one.reason, one.ratio, tuple(notes))
    return Verdict(True, "", worst, tuple(notes))


def stock(expected: Sequence[Value], actual: Sequence[Value], *, rtol: float, atol: float) -> Verdict:
    """The verdict of ONNX's own runner: equal types and shapes [...], |actual - expected| <= atol + rtol |expected|.

    ``atol`` has the unit of the output, ``rtol`` is a share of 1. For bfloat16 ``rtol`` is at least 2^-6.
    """
    if len(actual) != len(expected):
        return Verdict(False, f"{len(actual)} outputs, expected {len(expected)}")
    for index, (want, have) in enumerate(zip(expected, actual, strict=True)):
        reason = _stock_value(want, have, rtol, atol)
        if reason:
            return Verdict(False, f"output {index}: {reason}")
    return Verdict(True)


def _value(want: Value, have: Value, truth: Truth, rule: Rule, loose: bool, where: str) -> Verdict:
    if isinstance(want, Tensor) and isinstance(have, Tensor):
        return _tensor(want, have, truth, rule, loose, where)
    if isinstance(want, list) and isinstance(have, list):
        if len(want) != len(have):
            return Verdict(False, f"{where}: a sequence of {len(have)}, expected {len(want)}")
        for number, (one, other) in enumerate(zip(want, have, strict=True)):
            found = _value(one, other, Truth(), rule, loose, f"{where}[{number}]")
            if not found.passed:
                return found
        return Verdict(True)
    if want is None and have is None:
        return Verdict(True)
    return Verdict(False, f"{where}: {_kind(have)}, expected {_kind(want)}")


def _tensor(want: Tensor, have: Tensor, truth: Truth, rule: Rule, loose: bool, where: str) -> Verdict:
    notes: tuple[str, ...] = ()
    if want.values.shape != have.values.shape:
        return Verdict(False, f"{where}: shape {list(have.values.shape)}, expected {list(want.values.shape)}")
    if want.dtype != have.dtype:
        if not (_whole(want.dtype) and _whole(have.dtype)):
            return Verdict(False, f"{where}: type {have.dtype}, expected {want.dtype}")
        notes = (f"dtype-changed: {want.dtype} to {have.dtype}",)
    if rule.kind == "random":
        return Verdict(True, notes=notes)
    if want.dtype not in FORMATS or rule.kind in ("movement", "exact"):
        return _equal(want, have, rule, where, notes)
    return _close(want, have, truth, rule, loose, where)


def _whole(dtype: str) -> bool:
    return dtype == "bool" or dtype.lstrip("u").startswith("int")


def _equal(want: Tensor, have: Tensor, rule: Rule, where: str, notes: tuple[str, ...]) -> Verdict:
    import numpy as np

    different = want.values != have.values
    if want.values.dtype.kind in "fc":
        different &= ~(np.isnan(want.values) & np.isnan(have.values))
        if rule.kind == "movement" and want.values.dtype.kind == "f":
            different |= (np.signbit(want.values) != np.signbit(have.values)) & ~np.isnan(want.values)
    count = int(np.count_nonzero(different))
    if not count:
        return Verdict(True, notes=notes)
    place = _first(different)
    return Verdict(
        False,
        f"{where}: {count} of {want.values.size} elements differ, at {list(place)} "
        f"{have.values[place]!s} for {want.values[place]!s}",
        notes=notes,
    )


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
    limit, low = _limits(want.dtype, true, sums, truth, rule, loose)
    if (error <= limit).all():
        return Verdict(True, ratio=_ratio(error, limit), notes=tuple(notes))
    if low is not None and (error <= low).all():
        return Verdict(True, ratio=_ratio(error, low), notes=(*notes, "low-precision accumulate"))
    wrong = ~(error <= limit)
    return _wrong(wrong, got, true, where, f"out of {rule.text}", ratio=_ratio(error, limit), notes=tuple(notes))


def _limits(dtype: str, true: Array, sums: Array, truth: Truth, rule: Rule, loose: bool) -> tuple[Array, Array | None]:
    """The tolerance of every element, and the wider one for sums that are accumulated in a narrow format itself."""
    import numpy as np

    form = FORMATS[dtype]
    unit = ulp(true, form)
    sums = np.where(np.isfinite(sums), sums, 0.0)
    if rule.kind == "composite":
        spread = (truth.spread or 0.0) * (form.unit / SINGLE if dtype == "float64" else 1.0)
        peak = ulp(np.abs(true).max(initial=0.0), form)
        limit = np.broadcast_to(SPREADS * spread + COMPOSITE_ULPS * peak, true.shape)
        low = limit + SPREADS * spread * (form.unit / SINGLE) if dtype in NARROW else None
        return limit, low
    if dtype in NARROW:
        return unit + SUM_UNITS * SINGLE * sums, unit + SUM_UNITS * form.unit * sums if rule.kind == "sum" else None
    if rule.kind == "sum":
        return np.maximum(SUM_UNITS * form.unit * sums, 2.0**form.lowest * form.unit), None
    return (rule.loose if loose and rule.loose else rule.ulps) * unit, None


def _wrong(
    wrong: Array, got: Array, true: Array, where: str, what: str, *, ratio: float | None = None,
    notes: tuple[str, ...] = (),
) -> Verdict:  # fmt: skip
    import numpy as np

    place = _first(wrong)
    count = int(np.count_nonzero(wrong))
    text = f"{where}: {what}: {count} of {wrong.size} elements, at {list(place)} {got[place]:.9g} for {true[place]:.9g}"
    return Verdict(False, text, ratio, notes)


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


def _kind(value: Value) -> str:
    if value is None:
        return "nothing"
    return f"a sequence of {len(value)}" if isinstance(value, list) else f"a tensor of {value.dtype}"


def _stock_value(want: Value, have: Value, rtol: float, atol: float) -> str:
    import numpy as np

    if isinstance(want, list) and isinstance(have, list):
        if len(want) != len(have):
            return f"a sequence of {len(have)}, expected {len(want)}"
        return next(filter(None, (_stock_value(a, b, rtol, atol) for a, b in zip(want, have, strict=True))), "")
    if not isinstance(want, Tensor) or not isinstance(have, Tensor):
        return "" if want is None and have is None else f"{_kind(have)}, expected {_kind(want)}"
    if want.values.shape != have.values.shape:
        return f"shape {list(have.values.shape)}, expected {list(want.values.shape)}"
    if want.dtype != have.dtype:
        return f"type {have.dtype}, expected {want.dtype}"
    if want.values.dtype.kind not in "fc":
        return "" if np.array_equal(want.values, have.values) or _near(want, have, rtol, atol) else "elements differ"
    return "" if _near(want, have, max(rtol, 2**-6) if want.dtype == "bfloat16" else rtol, atol) else "out of tolerance"


def _near(want: Tensor, have: Tensor, rtol: float, atol: float) -> bool:
    import numpy as np

    if want.values.dtype.kind not in "fciub" or want.dtype.startswith("float8") or want.dtype.startswith("float4"):
        return False
    with np.errstate(all="ignore"):
        return bool(np.isclose(have.values, want.values, rtol=rtol, atol=atol, equal_nan=True).all())
