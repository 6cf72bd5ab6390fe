"""Shapes that are broadcast against each other."""

from __future__ import annotations

import math

import numpy as np

from bench_plugin.generation.catalogue import Operator
from bench_plugin.generation.graphs import Port
from bench_plugin.generation.sketch import ELEMENTS, SIZES, Shape, Sketch


def broadcastable(sketch: Sketch, shape: Shape) -> Shape:
    """A shape that is broadcast to ``shape``: leading dimensions left out, others 1."""
    kept = shape[sketch.number(0, len(shape)) if shape else 0 :]
    return tuple(1 if sketch.flag() else size for size in kept)


def broadcast(*shapes: Shape) -> Shape:
    """The shape that the shapes are broadcast to."""
    return tuple(int(size) for size in np.broadcast_shapes(*shapes))


def second(sketch: Sketch, row: Operator, first: Port) -> Port:
    """Another operand of the first's type that is broadcast with it: of a smaller shape, or a larger one."""
    if sketch.flag():
        shape = broadcastable(sketch, first.shape)
    else:
        larger = sketch.shape((0, max(0, 4 - len(first.shape))), 0)
        shape = (*larger, *(sketch.among((1, size)) if size != 1 else sketch.among(SIZES) for size in first.shape))
        if math.prod(broadcast(shape, first.shape)) > ELEMENTS * 4:
            shape = first.shape
    return sketch.source(row, first.dtype, shape)
