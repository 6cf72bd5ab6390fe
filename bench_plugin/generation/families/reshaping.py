"""Operators that change the shape of a tensor, and those that return it."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from hypothesis import strategies as st

from bench_plugin.generation.catalogue import Operator
from bench_plugin.generation.sketch import Family, Sketch


def _transpose(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    order = sketch.draw(st.permutations(range(len(x.shape)))) if x.shape and sketch.flag() else None
    shape = tuple(x.shape[axis] for axis in (order or range(len(x.shape))[::-1]))
    sketch.node(row, [x], (x.dtype, shape), perm=list(order) if order else None)


def _reshape(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    size = math.prod(x.shape)
    wanted: list[int] = []
    left = size
    while size and left > 1 and len(wanted) < 3:
        divisors = [part for part in range(1, left + 1) if left % part == 0]
        wanted.append(sketch.among(divisors))
        left //= wanted[-1]
    shape = (*wanted, left) if size and (left > 1 or sketch.flag()) else tuple(wanted) if size else x.shape
    if math.prod(shape) != size:
        shape = (size,)
    text = list(shape)
    allow = None
    if 0 in shape:
        allow = 1 if sketch.flag() else None  # without it a 0 copies the dimension of the input, which is the same here
    elif shape and sketch.flag():
        text[sketch.number(0, len(shape) - 1)] = -1
    elif shape and x.shape and shape[0] == x.shape[0] and sketch.flag():
        text[0] = 0
    sketch.node(row, [x, sketch.literal(np.array(text, dtype=np.int64))], (x.dtype, tuple(shape)), allowzero=allow)


def _flatten(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    axis = sketch.number(-len(x.shape), len(x.shape)) if sketch.flag() else None
    place = 1 if axis is None else axis + len(x.shape) if axis < 0 else axis
    sketch.node(row, [x], (x.dtype, (math.prod(x.shape[:place]), math.prod(x.shape[place:]))), axis=axis)


def _squeeze(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    ones = [axis for axis, size in enumerate(x.shape) if size == 1]
    if not ones or not sketch.flag():
        sketch.node(row, [x], (x.dtype, tuple(size for size in x.shape if size != 1)))
        return
    chosen = sketch.draw(st.lists(st.sampled_from(ones), min_size=1, unique=True))
    axes = [axis - len(x.shape) if sketch.flag() else axis for axis in chosen]
    shape = tuple(size for axis, size in enumerate(x.shape) if axis not in chosen)
    sketch.node(row, [x, sketch.literal(axes)], (x.dtype, shape))


def _unsqueeze(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    rank = len(x.shape) + sketch.number(1, 2)
    chosen = sketch.draw(
        st.lists(st.integers(0, rank - 1), min_size=rank - len(x.shape), max_size=rank - len(x.shape), unique=True)
    )
    sizes = iter(x.shape)
    shape = tuple(1 if axis in chosen else next(sizes) for axis in range(rank))
    axes = [axis - rank if sketch.flag() else axis for axis in chosen]
    sketch.node(row, [x, sketch.literal(axes)], (x.dtype, shape))


def _blocks(sketch: Sketch) -> tuple[int, tuple[int, ...]]:
    """The size of blocks, and four sizes; the simplest ones of a type of integers have several elements."""
    sizes = (2, 1, 3) if sketch.only else (1, 2, 3)
    return sketch.among(sizes[:2]), tuple(sketch.among(sizes) for _ in range(4))


def _depth_to_space(sketch: Sketch, row: Operator) -> None:
    block, (count, depth, height, width) = _blocks(sketch)
    x = sketch.source(row, sketch.dtype(row), (count, depth * block * block, height, width), constant=False)
    sketch.node(row, [x], (x.dtype, (count, depth, height * block, width * block)), blocksize=block)


def _space_to_depth(sketch: Sketch, row: Operator) -> None:
    block, (count, depth, height, width) = _blocks(sketch)
    x = sketch.source(row, sketch.dtype(row), (count, depth, height * block, width * block), constant=False)
    sketch.node(row, [x], (x.dtype, (count, depth * block * block, height, width)), blocksize=block)


def _shape_of(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    start, end = (sketch.number(-5, 5) if sketch.flag() else None for _ in range(2))
    found = x.shape[start:end] if start is not None or end is not None else x.shape
    sketch.node(row, [x], ("int64", (len(found),)), start=start, end=end)


def _size_of(sketch: Sketch, row: Operator) -> None:
    sketch.node(row, [sketch.operand(row)], ("int64", ()))


FAMILIES: Mapping[str, Family] = {
    "transpose": _transpose,
    "reshape": _reshape,
    "flatten": _flatten,
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
    "depth_to_space": _depth_to_space,
    "space_to_depth": _space_to_depth,
    "shape": _shape_of,
    "size": _size_of,
}
