"""The rule of every operator: how exactly its result is defined."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class Rule:
    """``kind`` is movement, exact, ulp, sum, composite or random.

    ``ulps`` is the limit of kind ulp, and what kind composite adds to its spread; ``loose`` is the limit of kind ulp
    under fast math (0 where fast math changes nothing).
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
        ulps = f"{self.ulps:g} ULP"
        names = {
            "ulp": ulps, "sum": "16 u S", "composite": f"16 spread + {ulps}", "movement": "bitwise", "exact": "equal",
        }  # fmt: skip
        return names.get(self.kind, self.kind)


# All files of this folder: a part of every row's key.
RULES_HASH = hashlib.sha256(
    b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py")))
).hexdigest()


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
TANH = 5.0  # ULP
COMPOSITE = Rule("composite", 4.0)
# A composite of one of these is not held to less than Tanh itself.
WITH_TANH = frozenset(_names("Tanh RNN GRU LSTM"))
ULPS: Mapping[str, Rule] = {
    **{name: Rule("ulp", 1.0) for name in ("Add", "Sub", "Mul", "DequantizeLinear", "LeakyRelu", "PRelu", "Shrink")},
    **{name: Rule("ulp", 1.0, 2.5) for name in ("Div", "Sqrt", "Reciprocal")},
    **{
        name: Rule("ulp", 4.0)
        for name in _names("Acos Acosh Asin Asinh Atan Atanh Cos Cosh Exp Log Sigmoid Sin Sinh Softsign Tan")
    },
    "Tanh": Rule("ulp", TANH),
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
    return replace(COMPOSITE, ulps=TANH) if WITH_TANH.intersection(operators) else COMPOSITE
