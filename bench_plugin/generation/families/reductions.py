"""Operators that go along axes and reduce, accumulate or order what they find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bench_plugin.generation.catalogue import Operator
from bench_plugin.generation.sketch import Family, Shape, Sketch


def _reduced(shape: Shape, axes: Sequence[int], keep: bool) -> Shape:
    gone = {axis % len(shape) for axis in axes} if shape else set()
    return tuple(1 if place in gone else size for place, size in enumerate(shape) if keep or place not in gone)


def _keeping(sketch: Sketch, row: Operator) -> tuple[Operator, int | None]:
    """The row without ``keepdims``, which decides about shapes and so is generated here."""
    others = {name: rule for name, rule in row.attributes.items() if name != "keepdims"}
    keep = sketch.among((None, 1, 0))
    return replace(row, attributes=others), keep


def _reduce(sketch: Sketch, row: Operator) -> None:
    row, keep = _keeping(sketch, row)
    x = sketch.operand(row)
    axes = sketch.axes(len(x.shape)) or None
    shape = _reduced(x.shape, axes or range(len(x.shape)), keep != 0)
    sketch.node(row, [x], (x.dtype, shape), axes=axes, keepdims=keep)


def _reduce_by_input(sketch: Sketch, row: Operator) -> None:
    row, keep = _keeping(sketch, row)
    x = sketch.operand(row)
    axes = sketch.axes(len(x.shape))
    noop = sketch.among((None, 0, 1))
    gone = axes if axes or noop else range(len(x.shape))
    inputs = [x, sketch.literal(axes)] if axes else [x]
    shape = _reduced(x.shape, gone, keep != 0)
    sketch.node(replace(row, attributes={}), inputs, (x.dtype, shape), keepdims=keep, noop_with_empty_axes=noop)


def _arg(sketch: Sketch, row: Operator) -> None:
    row, keep = _keeping(sketch, row)
    x = sketch.operand(row)
    axis = sketch.axis(len(x.shape)) if sketch.flag() else None
    sketch.node(row, [x], ("int64", _reduced(x.shape, [axis or 0], keep != 0)), axis=axis, keepdims=keep)


def _cumsum(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    sketch.node(row, [x, sketch.literal(sketch.axis(len(x.shape)))], (x.dtype, x.shape))


def _topk(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    axis = sketch.axis(len(x.shape)) if sketch.flag() else None
    place = (-1 if axis is None else axis) % len(x.shape)
    count = sketch.number(1, x.shape[place])
    shape = tuple(count if index == place else size for index, size in enumerate(x.shape))
    sketch.node(row, [x, sketch.literal([count])], (x.dtype, shape), ("int64", shape), axis=axis)


FAMILIES: Mapping[str, Family] = {
    "reduce": _reduce,
    "reduce_by_input": _reduce_by_input,
    "arg": _arg,
    "cumsum": _cumsum,
    "topk": _topk,
}
