"""Operators that concatenate, slice, pad, repeat, reverse or mask tensors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bench_plugin.generation.catalogue import INTEGERS, Operator
from bench_plugin.generation.families.broadcasting import broadcast, broadcastable
from bench_plugin.generation.sketch import SIZES, Family, Sketch


def _concat(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    axis = sketch.axis(len(x.shape))
    place = axis % len(x.shape)
    parts = [x]
    for _ in range(sketch.number(0, 2)):
        size = sketch.among((*SIZES, 0))
        parts.append(sketch.source(row, x.dtype, (*x.shape[:place], size, *x.shape[place + 1 :])))
    total = sum(port.shape[place] for port in parts)
    sketch.node(row, parts, (x.dtype, (*x.shape[:place], total, *x.shape[place + 1 :])), axis=axis)


def _split(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    axis = sketch.axis(len(x.shape)) if sketch.flag() else None
    place = (axis or 0) % len(x.shape)
    whole = x.shape[place]
    first = sketch.number(0, whole)
    parts = [first, whole - first]
    inputs = [x, sketch.literal(parts)]
    if sketch.flag():
        count = sketch.among([part for part in range(1, whole + 1) if whole % part == 0])
        parts, inputs = [whole // count] * count, [x]
    shapes = [(x.dtype, (*x.shape[:place], size, *x.shape[place + 1 :])) for size in parts]
    sketch.node(row, inputs, *shapes, axis=axis)


def _slice(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    axes = sketch.axes(len(x.shape), least=1)
    starts, ends, steps, shape = [], [], [], list(x.shape)
    for axis in axes:
        size = x.shape[axis % len(x.shape)]
        step = sketch.among((1, 2, -1, -2))
        low, high = sketch.number(-size - 1, size + 1), sketch.number(-size - 1, size + 1)
        if sketch.only or sketch.flag():
            high = 2**31 - 1 if step > 0 else -(2**31) + 1
        starts.append(low)
        ends.append(high)
        steps.append(step)
        shape[axis % len(x.shape)] = len(_sliced(size, low, high, step))
    parts = [sketch.literal(values) for values in (starts, ends, axes, steps)]
    sketch.node(row, [x, *parts], (x.dtype, tuple(shape)))


def _sliced(size: int, start: int, end: int, step: int) -> range:
    """The places that Slice takes: negative bounds count from the end, and bounds are clamped."""
    start += size if start < 0 else 0
    end += size if end < 0 else 0
    if step > 0:
        return range(min(max(start, 0), size), min(max(end, 0), size), step)
    return range(min(max(start, 0), size - 1), min(max(end, -1), size - 1), step)


def _pad(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    mode = "constant" if 0 in x.shape or x.dtype == "bool" else sketch.among((None, "constant", "edge", "reflect"))
    most = [size - 1 if mode == "reflect" else 2 for size in x.shape]
    before = [sketch.number(0, min(2, limit)) for limit in most]
    after = [sketch.number(0, min(2, limit)) for limit in most]
    inputs = [x, sketch.literal([*before, *after])]
    if mode in (None, "constant") and sketch.flag():
        whole = x.dtype in INTEGERS and sketch.wide(row)
        value = sketch.whole_number(x.dtype) if whole else sketch.number(0, 1 if x.dtype == "bool" else 3)
        inputs.append(sketch.literal(value, x.dtype))
    shape = tuple(a + size + b for a, size, b in zip(before, x.shape, after, strict=True))
    sketch.node(row, inputs, (x.dtype, shape), mode=mode)


def _tile(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    repeats = [sketch.among((1, 2, 0)) for _ in x.shape]
    shape = tuple(size * times for size, times in zip(x.shape, repeats, strict=True))
    sketch.node(row, [x, sketch.literal(repeats)], (x.dtype, shape))


def _expand(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    wanted = broadcastable(sketch, x.shape)
    if sketch.flag() and len(x.shape) < 4:
        wanted = (sketch.among(SIZES), *(sketch.among((1, size)) if size != 1 else sketch.among((1, 2, 3))
                                        for size in x.shape))  # fmt: skip
    literal = sketch.literal(np.array(wanted, dtype=np.int64))
    sketch.node(row, [x, literal], (x.dtype, broadcast(x.shape, wanted)))


def _reverse_sequence(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    time = sketch.among((None, 0, 1))
    place = 0 if time is None else time
    lengths = [sketch.number(1, x.shape[place]) for _ in range(x.shape[1 - place])]
    port = sketch.literal(lengths, constant=sketch.flag())
    batch = None if time is None else 1 - time
    sketch.node(row, [x, port], (x.dtype, x.shape), time_axis=time, batch_axis=batch)


def _trilu(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    inputs = [x, sketch.literal(sketch.number(-3, 3))] if sketch.flag() else [x]
    sketch.node(row, inputs, (x.dtype, x.shape))


def _eye_like(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    sketch.node(row, [x], (x.dtype, x.shape), k=sketch.number(-2, 2) if sketch.flag() else None)


FAMILIES: Mapping[str, Family] = {
    "concat": _concat,
    "split": _split,
    "slice": _slice,
    "pad": _pad,
    "tile": _tile,
    "expand": _expand,
    "reverse_sequence": _reverse_sequence,
    "trilu": _trilu,
    "eye_like": _eye_like,
}
