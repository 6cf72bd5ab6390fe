"""Operators that compute element by element."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bench_plugin.generation.catalogue import Operator
from bench_plugin.generation.families.broadcasting import broadcast, broadcastable, second
from bench_plugin.generation.sketch import Family, Sketch

TYPE_CODES = {"float32": 1, "int32": 6, "int64": 7, "bool": 9, "float64": 11, "uint8": 2}  # TensorProto.DataType


def _map(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    sketch.node(row, [x], (row.result or x.dtype, x.shape))


def _pair(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    other = second(sketch, row, x)
    operands = [x, other] if x.name.startswith("r") is False or not sketch.flag() else [other, x]
    if row.name in ("Div", "Pow"):
        operands = [x, other]  # the divisor and the exponent stay in their bounds
    if row.name == "Div" and x.dtype.startswith("int"):
        other_values = sketch.number(1, 5)
        operands = [x, sketch.literal(np.full(other.shape, other_values), x.dtype)]
    sketch.node(row, operands, (row.result or x.dtype, broadcast(x.shape, other.shape)))


def _mod(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    size = sketch.number(1, 7)
    sign = -1 if sketch.flag() and x.dtype != "uint8" else 1
    divisor = sketch.literal(np.full(broadcastable(sketch, x.shape), sign * size), x.dtype)
    fmod = 1 if x.dtype == "float32" or sketch.flag() else None
    sketch.node(row, [x, divisor], (x.dtype, x.shape), fmod=fmod)


def _prelu(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    slope = sketch.source(row, x.dtype, broadcastable(sketch, x.shape))
    sketch.node(row, [x, slope], (x.dtype, x.shape))


def _shift(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    amount = sketch.literal(np.full(broadcastable(sketch, x.shape), sketch.number(0, 7)), x.dtype, constant=False)
    sketch.node(row, [x, amount], (x.dtype, x.shape))


def _several(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    others = [second(sketch, row, x) if number == 0 else sketch.source(row, x.dtype, x.shape)
              for number in range(sketch.number(0, 2))]  # fmt: skip
    shape = broadcast(x.shape, *(port.shape for port in others))
    sketch.node(row, [x, *others], (x.dtype, shape))


def _where(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    other = second(sketch, row, x)
    shape = broadcast(x.shape, other.shape)
    condition = sketch.source(row, "bool", broadcastable(sketch, shape), constant=False)
    sketch.node(row, [condition, x, other], (x.dtype, shape))


def _clip(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    low = sketch.number(0 if x.dtype == "uint8" else -2, 1)
    lower = sketch.literal(low, x.dtype) if sketch.flag() else None
    upper = sketch.literal(low + sketch.number(0, 3), x.dtype) if sketch.flag() else None
    inputs = [x, lower, upper]
    while inputs[-1] is None:
        inputs.pop()
    sketch.node(row, inputs, (x.dtype, x.shape))


def _cast(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    to = sketch.among([name for name in TYPE_CODES if name != "uint8" or not x.dtype.startswith("float")])
    sketch.node(row, [x], (to, x.shape), to=TYPE_CODES[to])


def _quantize(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    inputs = [x, sketch.literal(sketch.among((0.25, 0.125, 0.02)), "float32")]
    kind = "uint8"
    if sketch.flag():
        kind = sketch.among(("uint8", "int8"))
        inputs.append(sketch.literal(sketch.number(0, 100), kind))
    sketch.node(row, inputs, (kind, x.shape))


def _dequantize(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    inputs = [x, sketch.literal(sketch.among((0.25, 0.125, 0.02)), "float32")]
    if sketch.flag():
        inputs.append(sketch.literal(sketch.number(0, 100), x.dtype))
    sketch.node(row, inputs, ("float32", x.shape))


FAMILIES: Mapping[str, Family] = {
    "map": _map,
    "pair": _pair,
    "mod": _mod,
    "prelu": _prelu,
    "shift": _shift,
    "several": _several,
    "where": _where,
    "clip": _clip,
    "cast": _cast,
    "quantize": _quantize,
    "dequantize": _dequantize,
}
