"""Operators with an operand of indices; negative indices count from the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench_plugin.generation.catalogue import Operator
from bench_plugin.generation.sketch import SEEDS, SIZES, Family, Shape, Sketch


def _indices(sketch: Sketch, size: int, shape: Shape) -> Any:
    seed = sketch.number(0, SEEDS)
    low = -size if sketch.flag() else 0
    drawn = np.random.default_rng(seed).integers(low, size, shape) if seed else np.zeros(shape)
    return np.asarray(drawn, dtype=np.int64)


def _gather(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    axis = sketch.axis(len(x.shape)) if sketch.flag() else None
    place = (axis or 0) % len(x.shape)
    indices = _indices(sketch, x.shape[place], sketch.shape((0, 2)))
    shape = (*x.shape[:place], *indices.shape, *x.shape[place + 1 :])
    port = sketch.literal(indices, sketch.among(("int64", "int32")), constant=sketch.flag())
    sketch.node(row, [x, port], (x.dtype, shape), axis=axis)


def _gather_elements(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    axis = sketch.axis(len(x.shape)) if sketch.flag() else None
    place = (axis or 0) % len(x.shape)
    shape = tuple(sketch.among(SIZES) if index == place else sketch.number(1, size)
                  for index, size in enumerate(x.shape))  # fmt: skip
    port = sketch.literal(_indices(sketch, x.shape[place], shape), constant=sketch.flag())
    sketch.node(row, [x, port], (x.dtype, shape), axis=axis)


def _gather_nd(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    depth = sketch.number(1, len(x.shape))
    count = sketch.among(SIZES)
    columns = [_indices(sketch, x.shape[axis], (count, 1)) for axis in range(depth)]
    port = sketch.literal(np.concatenate(columns, axis=1), constant=sketch.flag())
    sketch.node(row, [x, port], (x.dtype, (count, *x.shape[depth:])))


def _scatter_elements(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    axis = sketch.axis(len(x.shape)) if sketch.flag() else None
    place = (axis or 0) % len(x.shape)
    count = sketch.number(1, x.shape[place])
    order = np.random.default_rng(sketch.number(0, SEEDS)).permutation(x.shape[place])[:count]
    shape = tuple(count if index == place else size for index, size in enumerate(x.shape))
    indices = np.broadcast_to(order.reshape([-1 if index == place else 1 for index in range(len(shape))]), shape)
    indices = indices - (x.shape[place] if sketch.flag() else 0)
    port = sketch.literal(indices, constant=sketch.flag())
    sketch.node(row, [x, port, sketch.source(row, x.dtype, shape)], (x.dtype, x.shape), axis=axis)


def _scatter_nd(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    count = sketch.number(1, x.shape[0])
    order = np.random.default_rng(sketch.number(0, SEEDS)).permutation(x.shape[0])[:count]
    port = sketch.literal(order.reshape(-1, 1), constant=sketch.flag())
    updates = sketch.source(row, x.dtype, (count, *x.shape[1:]))
    sketch.node(row, [x, port, updates], (x.dtype, x.shape))


def _one_hot(sketch: Sketch, row: Operator) -> None:
    dtype = sketch.among(row.types)
    depth = sketch.number(1, 4)
    shape = sketch.shape(row.ranks)
    x = sketch.literal(_indices(sketch, depth + 1, shape), dtype, constant=False)  # depth: the row is all off
    kind = sketch.among(("float32", "int64"))
    axis = sketch.number(-len(shape) - 1, len(shape)) if sketch.flag() else None
    place = (-1 if axis is None else axis) % (len(shape) + 1)
    found = (*shape[:place], depth, *shape[place:])
    inputs = [x, sketch.literal(depth), sketch.literal([sketch.number(0, 1), 3], kind)]
    sketch.node(row, inputs, (kind, found), axis=axis)


FAMILIES: Mapping[str, Family] = {
    "gather": _gather,
    "gather_elements": _gather_elements,
    "gather_nd": _gather_nd,
    "scatter_elements": _scatter_elements,
    "scatter_nd": _scatter_nd,
    "one_hot": _one_hot,
}
