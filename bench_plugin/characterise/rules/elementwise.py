"""Operators that compute each element by itself, those that only move elements, and reductions.

A function counts as its usual definition writes it: Sigmoid(x) = 1 / (1 + exp(-x)) is an exponential, an addition and a
division. A change of sign counts as a multiplication.
"""

from __future__ import annotations

from collections.abc import Mapping

from bench_plugin.characterise.rules.counts import (
    ADD,
    COMPARE,
    DIVIDE,
    EXPONENTIAL,
    LOGARITHM,
    LOGICAL,
    MULTIPLY,
    NOTHING,
    ROOT,
    ROUND,
    TRIGONOMETRIC,
    Counts,
    Rule,
    Seen,
)

# Operations for each element of the output.
PER_ELEMENT: Mapping[str, Mapping[str, int]] = {
    "Abs": {COMPARE: 1}, "Neg": {MULTIPLY: 1}, "Sign": {COMPARE: 2}, "Relu": {COMPARE: 1},
    "LeakyRelu": {COMPARE: 1, MULTIPLY: 1}, "PRelu": {COMPARE: 1, MULTIPLY: 1}, "ThresholdedRelu": {COMPARE: 1},
    "Clip": {COMPARE: 2}, "Shrink": {COMPARE: 2, ADD: 1}, "HardSigmoid": {MULTIPLY: 1, ADD: 1, COMPARE: 2},
    "HardSwish": {MULTIPLY: 2, ADD: 1, COMPARE: 2}, "Sigmoid": {EXPONENTIAL: 1, ADD: 1, DIVIDE: 1},
    "Swish": {EXPONENTIAL: 1, ADD: 1, DIVIDE: 1, MULTIPLY: 1}, "Softsign": {COMPARE: 1, ADD: 1, DIVIDE: 1},
    "Tanh": {EXPONENTIAL: 1, ADD: 2, DIVIDE: 1}, "Softplus": {EXPONENTIAL: 1, ADD: 1, LOGARITHM: 1},
    "Mish": {EXPONENTIAL: 2, ADD: 3, LOGARITHM: 1, DIVIDE: 1, MULTIPLY: 1},
    "Elu": {COMPARE: 1, EXPONENTIAL: 1, ADD: 1, MULTIPLY: 1}, "Celu": {COMPARE: 2, EXPONENTIAL: 1, ADD: 2, DIVIDE: 1},
    "Selu": {COMPARE: 1, EXPONENTIAL: 1, ADD: 1, MULTIPLY: 2}, "Erf": {EXPONENTIAL: 1},
    "Gelu": {EXPONENTIAL: 1, ADD: 1, MULTIPLY: 3}, "Exp": {EXPONENTIAL: 1}, "Log": {LOGARITHM: 1}, "Sqrt": {ROOT: 1},
    "Reciprocal": {DIVIDE: 1}, "Round": {ROUND: 1}, "Floor": {ROUND: 1}, "Ceil": {ROUND: 1},
    "IsNaN": {COMPARE: 1}, "IsInf": {COMPARE: 1}, "Not": {LOGICAL: 1}, "BitwiseNot": {LOGICAL: 1},
    **{name: {TRIGONOMETRIC: 1} for name in (
        "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh",
    )},
    **{name: {TRIGONOMETRIC: 1, MULTIPLY: 2, ADD: 1} for name in ("HannWindow", "HammingWindow", "BlackmanWindow")},
    "Add": {ADD: 1}, "Sub": {ADD: 1}, "Mul": {MULTIPLY: 1}, "Div": {DIVIDE: 1}, "Mod": {DIVIDE: 1},
    "Pow": {EXPONENTIAL: 1, LOGARITHM: 1, MULTIPLY: 1}, "Equal": {COMPARE: 1}, "Greater": {COMPARE: 1},
    "GreaterOrEqual": {COMPARE: 1}, "Less": {COMPARE: 1}, "LessOrEqual": {COMPARE: 1},
    **{name: {LOGICAL: 1} for name in ("And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift")},
    "QuantizeLinear": {DIVIDE: 1, ROUND: 1, ADD: 1, COMPARE: 2}, "DequantizeLinear": {ADD: 1, MULTIPLY: 1},
    "DynamicQuantizeLinear": {COMPARE: 4, DIVIDE: 1, ROUND: 1, ADD: 1}, "CumSum": {ADD: 1}, "CumProd": {MULTIPLY: 1},
    "BatchNormalization": {MULTIPLY: 1, ADD: 1}, "RotaryEmbedding": {MULTIPLY: 2, ADD: 1},
}  # fmt: skip
# Of any number of inputs: one operation for each element of the output and each input but the first.
JOINED: Mapping[str, str] = {"Sum": ADD, "Mean": ADD, "Max": COMPARE, "Min": COMPARE}
# They move, choose, repeat or describe elements, and compute none; types are only changed.
MOVING = (
    "Bernoulli", "Cast", "CastLike", "CenterCropPad", "Col2Im", "Compress", "Concat", "ConcatFromSequence",
    "ConstantOfShape", "DepthToSpace", "Dropout", "Expand", "EyeLike", "Flatten", "Gather", "GatherElements",
    "GatherND", "Identity", "MaxUnpool", "NonZero", "OneHot", "Optional", "OptionalGetElement", "OptionalHasElement",
    "Pad", "Range", "Reshape", "ReverseSequence", "Scatter", "ScatterElements", "ScatterND", "SequenceAt",
    "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength", "Shape", "Size", "Slice",
    "SpaceToDepth", "Split", "SplitToSequence", "Squeeze", "TensorScatter", "Tile", "Transpose", "Trilu", "Unsqueeze",
    "BitCast", "Where",
)  # fmt: skip
# For each element of the input, and for each of the output.
REDUCED: Mapping[str, tuple[Mapping[str, int], Mapping[str, int]]] = {
    "ReduceSum": ({ADD: 1}, {}), "ReduceMean": ({ADD: 1}, {DIVIDE: 1}), "ReduceMax": ({COMPARE: 1}, {}),
    "ReduceMin": ({COMPARE: 1}, {}), "ReduceProd": ({MULTIPLY: 1}, {}), "ReduceL1": ({COMPARE: 1, ADD: 1}, {}),
    "ReduceL2": ({MULTIPLY: 1, ADD: 1}, {ROOT: 1}), "ReduceSumSquare": ({MULTIPLY: 1, ADD: 1}, {}),
    "ReduceLogSum": ({ADD: 1}, {LOGARITHM: 1}),
    "ReduceLogSumExp": ({COMPARE: 1, ADD: 2, EXPONENTIAL: 1}, {LOGARITHM: 1, ADD: 1}),
    "ArgMax": ({COMPARE: 1}, {}), "ArgMin": ({COMPARE: 1}, {}), "Hardmax": ({COMPARE: 1}, {}),
    "Softmax": ({COMPARE: 1, ADD: 2, EXPONENTIAL: 1, DIVIDE: 1}, {}),
    "LogSoftmax": ({COMPARE: 1, ADD: 3, EXPONENTIAL: 1}, {}),
}  # fmt: skip


def _per_element(cost: Mapping[str, int]) -> Rule:
    return lambda seen: times(seen.made(), cost)


def _joined(kind: str, mean: bool) -> Rule:
    def rule(seen: Seen) -> Counts:
        made = seen.made()
        others = {kind: made * (seen.arity - 1)}
        return Counts(others={**others, DIVIDE: made} if mean else others)

    return rule


def _reduced(of_input: Mapping[str, int], of_output: Mapping[str, int]) -> Rule:
    """A sum of n elements counts n additions, that to the initial zero included."""

    def rule(seen: Seen) -> Counts:
        found = dict(times(seen.size(), of_input).others)
        for kind, count in of_output.items():
            found[kind] = found.get(kind, 0) + count * seen.made()
        return Counts(others=found)

    return rule


def _resize(seen: Seen) -> Counts:
    """Of each output as many inputs as the mode takes on every axis that changes: 1, 2 or 4, and as many weights."""
    taps = {"nearest": 0, "linear": 2, "cubic": 4}.get(seen.text("mode", "nearest"), 0)
    changed = sum(before != after for before, after in zip(seen.shape(), seen.result(), strict=True))
    if not taps:
        return NOTHING
    return times(seen.made(), {MULTIPLY: taps**changed, ADD: taps**changed})


def _grid_sample(seen: Seen) -> Counts:
    mode = seen.text("mode", "linear")
    taps = {"nearest": 0, "bilinear": 2, "linear": 2, "bicubic": 4, "cubic": 4}.get(mode, 2)
    axes = seen.shape(1)[-1]
    return times(seen.made(), {MULTIPLY: taps**axes, ADD: taps**axes}) if taps else NOTHING


def times(count: int, cost: Mapping[str, int]) -> Counts:
    """``count`` times a cost.

    >>> times(3, {ADD: 2}).others
    {'additions': 6}
    """
    return Counts(others={kind: count * each for kind, each in cost.items()})


RULES: Mapping[str, Rule] = {
    **{name: _per_element(cost) for name, cost in PER_ELEMENT.items()},
    **{name: _joined(kind, name == "Mean") for name, kind in JOINED.items()},
    **{name: lambda seen: NOTHING for name in MOVING},
    **{name: _reduced(*costs) for name, costs in REDUCED.items()},
    "Resize": _resize, "Upsample": _resize, "GridSample": _grid_sample,
}  # fmt: skip
