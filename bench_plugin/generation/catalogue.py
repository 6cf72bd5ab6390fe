"""The catalogue of generated operators: types, ranks, attributes, shape rules, and meaningful edge values.

``family`` names the rule by which operands and results are shaped (``strategies.FAMILIES``). ``edges`` says which
values an operator may get:

========  ===============================================================================
mild      values around 0 and 1, both zeros
finite    and the largest and smallest numbers of the type, denormal ones
infinite  and both infinities
ieee      and NaN
========  ===============================================================================

``integers`` says which integers an operator may get in a graph of its own (``ranges.py``). No result overflows, because
ONNX does not say what becomes of one that the type does not hold:

==========  ==================================================================================
all         every number of the type: nothing is computed that could overflow
negatable   not the smallest number of a signed type, which has no positive counterpart
summands    numbers whose sum over all elements of a tensor is a number of the type
terms       two operands whose sum is a number of the type
difference  two operands whose difference is a number of the type
factors     two operands whose product is a number of the type
dividend    as ``negatable`` for the first operand, and anything but 0 for the second
float32     whole numbers that float32 holds exactly; ``float64`` in the same way
small       only the plain values and the edge values
==========  ==================================================================================

Operators with ``steps`` are not continuous: an error of one ULP may change the result completely. So in a graph of
several nodes they are applied only to inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FLOATS = ("float32",)  # the check is one of fp32 only
SIGNED = ("int32", "int64", "int8", "int16")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
NUMBERS = (*FLOATS, *INTEGERS)
BYTES = ("int8", "uint8")
WORDS = ("int32", "int64", "uint32", "uint64")  # the integers that ONNX permits to sums over elements
ANY = (*NUMBERS, "bool")
BOOL = ("bool",)


@dataclass(frozen=True)
class Real:
    """A float attribute between two bounds; it may be left out unless ``required``."""

    low: float
    high: float
    required: bool = False


@dataclass(frozen=True)
class Choice:
    """An attribute with a few values, the simplest first; it may be left out unless ``required``."""

    values: tuple[Any, ...]
    required: bool = False


FLAG = Choice((0, 1))


@dataclass(frozen=True)
class Operator:
    """One row. ``low`` and ``high`` bound the plain values of operands, ``result`` is the type of the result if it
    differs from that of the operands, ``least`` is the smallest size of a dimension. ``turns`` are numbers at which the
    operator does something else than beside them, which are edge values of floats, too.
    """

    name: str
    family: str
    types: tuple[str, ...]
    attributes: Mapping[str, Real | Choice] = field(default_factory=dict)
    ranks: tuple[int, int] = (0, 4)
    low: float = -3.0
    high: float = 3.0
    edges: str = "finite"
    result: str = ""
    least: int = 0
    steps: bool = False
    integers: str = "all"
    turns: tuple[float, ...] = ()

    @property
    def compares(self) -> bool:
        """Whether the result says which of two operands is larger, or whether they are equal."""
        return self.family == "pair" and self.result == "bool"


def _rows() -> list[Operator]:
    order = {"mode": Choice(("DCR", "CRD"))}
    alpha = {"alpha": Real(0.0, 2.0)}
    keep = {"keepdims": FLAG}
    arg = {**keep, "select_last_index": FLAG}
    rows = [
        # One operand, a result of its shape.
        Operator("Identity", "map", ANY, edges="ieee"),
        Operator("Abs", "map", NUMBERS, edges="mild", integers="negatable"),
        Operator("Neg", "map", (*FLOATS, *SIGNED), edges="mild", integers="negatable"),
        Operator("Ceil", "map", FLOATS, edges="ieee", steps=True),
        Operator("Floor", "map", FLOATS, edges="ieee", steps=True),
        Operator("Round", "map", FLOATS, edges="ieee", steps=True, turns=(0.5, 2.5, -0.5, 1.5, -2.5)),
        Operator("Sign", "map", NUMBERS, edges="infinite", steps=True),
        Operator("Not", "map", BOOL),
        Operator("Exp", "map", FLOATS, edges="ieee"),
        Operator("Log", "map", FLOATS, low=0.01, high=9.0, edges="ieee"),
        Operator("Sqrt", "map", FLOATS, low=0.0, high=9.0, edges="ieee"),
        Operator("Reciprocal", "map", FLOATS, low=0.1, high=4.0, edges="ieee"),
        Operator("Sin", "map", FLOATS, edges="mild"),
        Operator("Cos", "map", FLOATS, edges="mild"),
        Operator("Tan", "map", FLOATS, low=-1.2, high=1.2, edges="mild"),
        Operator("Asin", "map", FLOATS, low=-1.0, high=1.0, edges="mild"),
        Operator("Acos", "map", FLOATS, low=-1.0, high=1.0, edges="mild"),
        Operator("Atan", "map", FLOATS, edges="infinite"),
        Operator("Sinh", "map", FLOATS, edges="mild"),
        Operator("Cosh", "map", FLOATS, edges="infinite"),
        Operator("Asinh", "map", FLOATS, edges="finite"),
        Operator("Acosh", "map", FLOATS, low=1.0, high=9.0, edges="mild"),
        Operator("Atanh", "map", FLOATS, low=-0.999, high=0.999, edges="mild", turns=(-0.99, 0.99)),
        Operator("Tanh", "map", FLOATS, edges="ieee"),
        Operator("Sigmoid", "map", FLOATS, edges="ieee"),
        Operator("Erf", "map", FLOATS, edges="infinite"),
        Operator("Relu", "map", (*FLOATS, *SIGNED), edges="infinite"),
        Operator("LeakyRelu", "map", FLOATS, alpha, edges="infinite"),
        Operator("Elu", "map", FLOATS, alpha, edges="mild"),
        Operator("Selu", "map", FLOATS, {**alpha, "gamma": Real(0.5, 2.0)}, edges="mild"),
        Operator("Celu", "map", FLOATS, {"alpha": Real(0.25, 2.0)}, edges="mild"),
        Operator("HardSigmoid", "map", FLOATS, {"alpha": Real(0.0, 1.0), "beta": Real(0.0, 1.0)}, edges="mild"),
        Operator("HardSwish", "map", FLOATS, edges="mild"),
        Operator("Softplus", "map", FLOATS, edges="mild"),
        Operator("Softsign", "map", FLOATS, edges="mild"),
        Operator("ThresholdedRelu", "map", FLOATS, alpha, edges="infinite", steps=True),
        Operator("Shrink", "map", FLOATS, {"lambd": Real(0.0, 1.0), "bias": Real(0.0, 1.0)}, edges="mild", steps=True),
        Operator("IsNaN", "map", FLOATS, result="bool", edges="ieee", steps=True),
        Operator(
            "IsInf", "map", FLOATS, {"detect_negative": FLAG, "detect_positive": FLAG}, result="bool", edges="ieee",
            steps=True,
        ),
        # Two operands that are broadcast against each other.
        Operator("Add", "pair", NUMBERS, edges="mild", integers="terms"),
        Operator("Sub", "pair", NUMBERS, edges="mild", integers="difference"),
        Operator("Mul", "pair", NUMBERS, edges="mild", integers="factors"),
        Operator("Div", "pair", NUMBERS, low=0.5, high=6.0, edges="mild", integers="dividend"),
        Operator("Pow", "pair", FLOATS, low=0.25, high=3.0, edges="mild"),
        Operator(
            "Mod", "mod", (*INTEGERS, "float32"), low=1.0, high=9.0, edges="mild", steps=True, integers="dividend"
        ),
        Operator("PRelu", "prelu", FLOATS, edges="mild"),
        Operator("And", "pair", BOOL),
        Operator("Or", "pair", BOOL),
        Operator("Xor", "pair", BOOL),
        Operator("Equal", "pair", ANY, result="bool", edges="ieee", steps=True),
        Operator("Less", "pair", NUMBERS, result="bool", edges="ieee", steps=True),
        Operator("LessOrEqual", "pair", NUMBERS, result="bool", edges="ieee", steps=True),
        Operator("Greater", "pair", NUMBERS, result="bool", edges="ieee", steps=True),
        Operator("GreaterOrEqual", "pair", NUMBERS, result="bool", edges="ieee", steps=True),
        Operator("BitShift", "shift", UNSIGNED, {"direction": Choice(("LEFT", "RIGHT"), True)}),
        Operator("Max", "several", NUMBERS, edges="infinite"),
        Operator("Min", "several", NUMBERS, edges="infinite"),
        Operator("Sum", "several", FLOATS, edges="mild"),
        Operator("Mean", "several", FLOATS, edges="mild"),
        Operator("Where", "where", ANY, edges="ieee"),
        Operator("Clip", "clip", NUMBERS, edges="infinite"),
        Operator("Cast", "cast", ANY, edges="mild", steps=True),
        # Operators that remove axes.
        *(
            Operator(name, "reduce", FLOATS, keep, edges="mild", least=1)
            for name in ("ReduceL1", "ReduceL2", "ReduceMean", "ReduceSumSquare", "ReduceLogSumExp")
        ),
        Operator("ReduceProd", "reduce", FLOATS, keep, edges="mild", least=1, low=0.5, high=1.5),
        Operator("ReduceLogSum", "reduce", FLOATS, keep, edges="none", least=1, low=0.1),
        Operator("ReduceMax", "reduce", (*FLOATS, *WORDS, *BYTES), keep, edges="infinite", least=1),
        Operator("ReduceMin", "reduce", (*FLOATS, *WORDS, *BYTES), keep, edges="infinite", least=1),
        Operator(
            "ReduceSum", "reduce_by_input", (*FLOATS, *WORDS), {**keep, "noop_with_empty_axes": FLAG}, edges="mild",
            least=1, integers="summands",
        ),
        Operator("ArgMax", "arg", NUMBERS, arg, ranks=(1, 4), result="int64", edges="infinite", least=1, steps=True),
        Operator("ArgMin", "arg", NUMBERS, arg, ranks=(1, 4), result="int64", edges="infinite", least=1, steps=True),
        Operator(
            "CumSum", "cumsum", (*FLOATS, *WORDS), {"exclusive": FLAG, "reverse": FLAG}, ranks=(1, 4), edges="mild",
            integers="summands",
        ),
        Operator("TopK", "topk", NUMBERS, {"largest": FLAG}, ranks=(1, 3), edges="mild", least=1, steps=True),
        # Operators that move elements.
        Operator("Transpose", "transpose", ANY, edges="ieee"),
        Operator("Reshape", "reshape", ANY, edges="ieee"),
        Operator("Flatten", "flatten", ANY, ranks=(1, 4), edges="ieee"),
        Operator("Squeeze", "squeeze", ANY, edges="ieee"),
        Operator("Unsqueeze", "unsqueeze", ANY, ranks=(0, 3), edges="ieee"),
        Operator("Concat", "concat", ANY, ranks=(1, 4), edges="ieee"),
        Operator("Split", "split", ANY, ranks=(1, 4), edges="ieee", least=1),
        Operator("Slice", "slice", ANY, ranks=(1, 4), edges="ieee"),
        Operator("Pad", "pad", ANY, ranks=(1, 4), edges="ieee"),
        Operator("Tile", "tile", ANY, ranks=(1, 4), edges="ieee"),
        Operator("Expand", "expand", ANY, edges="ieee"),
        Operator("Gather", "gather", ANY, ranks=(1, 3), edges="ieee", least=1),
        Operator("GatherElements", "gather_elements", ANY, ranks=(1, 3), edges="ieee", least=1),
        Operator("GatherND", "gather_nd", ANY, ranks=(1, 3), edges="ieee", least=1),
        Operator("ScatterElements", "scatter_elements", ANY, ranks=(1, 3), edges="ieee", least=1),
        Operator("ScatterND", "scatter_nd", ANY, ranks=(1, 3), edges="ieee", least=1),
        Operator("Shape", "shape", ANY, edges="ieee", steps=True),
        Operator("Size", "size", ANY, edges="ieee", steps=True),
        Operator("DepthToSpace", "depth_to_space", ANY, order, ranks=(4, 4), edges="ieee"),
        Operator("SpaceToDepth", "space_to_depth", ANY, ranks=(4, 4), edges="ieee"),
        Operator("OneHot", "one_hot", ("int64", "int32"), ranks=(1, 3), steps=True, integers="small"),
        Operator("Trilu", "trilu", NUMBERS, {"upper": FLAG}, ranks=(2, 4), edges="ieee"),
        Operator("EyeLike", "eye_like", NUMBERS, ranks=(2, 2), edges="mild", steps=True),
        Operator("ReverseSequence", "reverse_sequence", ANY, ranks=(2, 4), edges="ieee", least=1),
        # Sums of products, and windows.
        Operator("MatMul", "matmul", FLOATS, edges="mild"),
        Operator("Gemm", "gemm", FLOATS, edges="mild"),
        Operator("MatMulInteger", "matmul_integer", BYTES[::-1], result="int32", least=1, integers="small"),
        Operator("Conv", "conv", FLOATS, edges="mild", least=1),
        Operator("ConvTranspose", "conv_transpose", FLOATS, edges="mild", least=1),
        Operator("MaxPool", "pool", (*FLOATS, *BYTES), edges="mild", least=1),
        Operator("AveragePool", "pool", FLOATS, {"count_include_pad": FLAG}, edges="mild", least=1),
        Operator("LpPool", "pool", FLOATS, {"p": Choice((2, 1))}, edges="mild", least=1),
        Operator("GlobalAveragePool", "global_pool", FLOATS, ranks=(3, 4), edges="mild", least=1),
        Operator("GlobalMaxPool", "global_pool", FLOATS, ranks=(3, 4), edges="infinite", least=1),
        # Composite operators.
        Operator("Softmax", "along", FLOATS, ranks=(1, 4), edges="mild"),
        Operator("LogSoftmax", "along", FLOATS, ranks=(1, 4), edges="mild"),
        Operator("Hardmax", "along", FLOATS, ranks=(1, 4), edges="mild", least=1, steps=True),
        Operator("LpNormalization", "along", FLOATS, {"p": Choice((2, 1))}, ranks=(1, 4), edges="none", least=1),
        Operator("LayerNormalization", "layer_norm", FLOATS, ranks=(1, 4), edges="mild", least=1),
        Operator("BatchNormalization", "batch_norm", FLOATS, ranks=(2, 4), edges="mild", least=1),
        Operator("InstanceNormalization", "instance_norm", FLOATS, ranks=(3, 4), edges="mild", least=1),
        Operator("LRN", "lrn", FLOATS, ranks=(4, 4), edges="mild", least=1),
        Operator("Resize", "resize", FLOATS, ranks=(4, 4), edges="mild", least=1),
        Operator("QuantizeLinear", "quantize", FLOATS, edges="mild", steps=True),
        Operator("DequantizeLinear", "dequantize", ("uint8", "int8"), edges="finite"),
    ]  # fmt: skip
    return rows


OPERATORS: Mapping[str, Operator] = {row.name: row for row in _rows()}
GRAPHS = "dag"  # the name of the cells with graphs of several nodes
