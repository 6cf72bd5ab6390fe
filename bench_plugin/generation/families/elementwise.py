"""Operators that compute element by element."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from bench_plugin.generation.catalogue import FLOATS, INTEGERS, UNSIGNED, Operator
from bench_plugin.generation.families.broadcasting import broadcast, broadcastable, second
from bench_plugin.generation.sketch import Family, Sketch

TYPE_CODES = {  # TensorProto.DataType
    "float32": 1, "int32": 6, "int64": 7, "bool": 9, "float64": 11, "uint8": 2, "int8": 3, "int16": 5, "uint16": 4,
    "uint32": 12, "uint64": 13,
}  # fmt: skip


def _map(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    sketch.node(row, [x], (row.result or x.dtype, x.shape))


def _pair(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    if row.name == "Div" and x.dtype in INTEGERS:
        divisor = sketch.divisor(row, x.dtype, broadcastable(sketch, x.shape), 1)
        sketch.node(row, [x, divisor], (x.dtype, x.shape))
        return
    other = second(sketch, row, x)
    operands = [x, other] if x.name.startswith("r") is False or not sketch.flag() else [other, x]
    if row.name in ("Div", "Pow"):
        operands = [x, other]  # the divisor and the exponent stay in their bounds
    sketch.node(row, operands, (row.result or x.dtype, broadcast(x.shape, other.shape)))


def _mod(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    shape, least = broadcastable(sketch, x.shape), 1 if x.dtype in UNSIGNED else -7
    if x.dtype in INTEGERS:
        divisor = sketch.divisor(row, x.dtype, shape, least)
    else:
        divisor = sketch.literal(np.full(shape, sketch.number(least, 7) or 1), x.dtype)
    fmod = 1 if x.dtype == "float32" or sketch.flag() else None
    sketch.node(row, [x, divisor], (x.dtype, x.shape), fmod=fmod)


def _prelu(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    slope = sketch.source(row, x.dtype, broadcastable(sketch, x.shape))
    sketch.node(row, [x, slope], (x.dtype, x.shape))


def _shift(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    bits = np.iinfo(x.dtype).bits
    amount = sketch.literal(
        np.full(broadcastable(sketch, x.shape), sketch.number(0, bits - 1)), x.dtype, constant=False
    )
    sketch.node(row, [x, amount], (x.dtype, x.shape))


def _several(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    others = [second(sketch, row, x) if number == 0 else sketch.source(row, x.dtype, x.shape)
              for number in range(sketch.number(1 if sketch.only else 0, 2))]  # fmt: skip
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
    if sketch.only:  # the middle half of the range, so that some of any numbers are clipped at each end
        least, most = int(np.iinfo(x.dtype).min), int(np.iinfo(x.dtype).max)
        low, high = least + (most - least) // 4, most - (most - least) // 4
    elif x.dtype in INTEGERS and sketch.wide(row):
        low, high = sorted(sketch.whole_number(x.dtype) for _ in range(2))
    else:
        low = sketch.number(0 if x.dtype in UNSIGNED else -2, 1)
        high = low + sketch.number(0, 3)
    lower = sketch.literal(low, x.dtype) if sketch.only or sketch.flag() else None
    upper = sketch.literal(high, x.dtype) if sketch.only or sketch.flag() else None
    inputs = [x, lower, upper]
    while inputs[-1] is None:
        inputs.pop()
    sketch.node(row, inputs, (x.dtype, x.shape))


def _cast(sketch: Sketch, row: Operator) -> None:
    dtype = sketch.dtype(row)
    to = sketch.among([name for name in TYPE_CODES if name not in UNSIGNED or dtype not in FLOATS])
    # A float that holds the number: to which one others are rounded, ONNX leaves open.
    held = replace(row, integers=to if to.startswith("float") else "all")
    x = sketch.source(held, dtype, sketch.shape(row.ranks, row.least), constant=False)
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
