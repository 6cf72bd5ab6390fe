"""Softmax and normalisations, which relate each element to others of its tensor."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bench_plugin.generation.catalogue import Operator
from bench_plugin.generation.sketch import Family, Sketch


def _along_axis(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    sketch.node(row, [x], (x.dtype, x.shape), axis=sketch.axis(len(x.shape)) if sketch.flag() else None)


def _layer_norm(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    axis = sketch.axis(len(x.shape)) if sketch.flag() else None
    rest = x.shape[(-1 if axis is None else axis) % len(x.shape) :]
    inputs = [x, sketch.source(row, x.dtype, rest)]
    if sketch.flag():
        inputs.append(sketch.source(row, x.dtype, rest))
    sketch.node(row, inputs, (x.dtype, x.shape), axis=axis, epsilon=sketch.among((None, 0.01)))


def _batch_norm(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    scale, shift, mean = (sketch.source(row, x.dtype, (x.shape[1],), constant=True) for _ in range(3))
    variance = sketch.literal(np.linspace(0.5, 2.0, x.shape[1]), x.dtype)
    sketch.node(row, [x, scale, shift, mean, variance], (x.dtype, x.shape), epsilon=sketch.among((None, 0.01)))


def _instance_norm(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    parts = [sketch.source(row, x.dtype, (x.shape[1],)) for _ in range(2)]
    sketch.node(row, [x, *parts], (x.dtype, x.shape), epsilon=sketch.among((None, 0.01)))


def _lrn(sketch: Sketch, row: Operator) -> None:
    x = sketch.operand(row)
    more = {name: sketch.among(values) if sketch.flag() else None
            for name, values in (("alpha", (0.5, 0.01)), ("beta", (0.5, 1.0)), ("bias", (2.0,)))}  # fmt: skip
    sketch.node(row, [x], (x.dtype, x.shape), size=sketch.among((1, 3, 2)), **more)


FAMILIES: Mapping[str, Family] = {
    "along": _along_axis,
    "layer_norm": _layer_norm,
    "batch_norm": _batch_norm,
    "instance_norm": _instance_norm,
    "lrn": _lrn,
}
