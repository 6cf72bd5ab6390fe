"""Shapes that broadcast against each other (ONNX, "Multidirectional Broadcasting")."""

from __future__ import annotations

import math

import numpy as np

from bench_plugin.generation.catalogue import Operator
from bench_plugin.generation.graphs import Port
from bench_plugin.generation.sketch import ELEMENTS, SIZES, Shape, Sketch


def broadcastable(sketch: Sketch, shape: Shape) -> Shape:
    """A shape that broadcasts to ``shape``: leading dimensions are left out, others are 1."""
    kept = shape[sketch.number(0, len(shape)) if shape else 0 :]
    return tuple(1 if sketch.flag() else size for size in kept)


def broadcast(*shapes: Shape) -> Shape:
    """The shape to which all these shapes broadcast."""
    return tuple(int(size) for size in np.broadcast_shapes(*shapes))


def second(sketch: Sketch, row: Operator, first: Port) -> Port:
    """Another operand of the first one's type, of a smaller or larger shape that broadcasts with it."""
    if sketch.flag():
        shape = broadcastable(sketch, first.shape)
    else:
        larger = sketch.shape((0, max(0, 4 - len(first.shape))), 0)
        shape = (*larger, *(sketch.among((1, size)) if size != 1 else sketch.among(SIZES) for size in first.shape))
        if math.prod(broadcast(shape, first.shape)) > ELEMENTS * 4:
            shape = first.shape
    return sketch.source(row, first.dtype, shape, first=first)
