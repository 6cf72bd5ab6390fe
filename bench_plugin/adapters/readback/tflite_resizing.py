"""TFLite's operators that resize images, in ONNX's: which elements they take, and with which weights they mix them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from bench_plugin.adapters.readback.tflite_moves import constant, inputs_of
from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.toolkit.rebuilding import Unread

ADAPTER = {
    "name": "tflite_resizing",
    "kind": "tool",
    "toolchain": "tensorflow",
    "title": "TFLite's operators that resize images",
    "distribution": "ai-edge-litert",
    "operations": [],
    "uses": ["tflite_moves"],
}

AXES = (1, 2)  # height and width, channels last
# Weights of integer kernels have so many bits behind the point: XNNPACK's, and TFLite's own.
DELEGATED, PLAIN = 11, 10


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("ai-edge-litert", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def mixed_coarsely(reader: Any, node: Any) -> str | None:
    """What an integer kernel of RESIZE_BILINEAR rounds; None where its weights are the exact ones.

    A kernel rounds its weights to some bits behind the point, multiplies without any loss, and rounds the sum once.
    """
    numpy, bits = importlib.import_module("numpy"), PLAIN if reader.file.plain else DELEGATED
    exact = [_mixing(size, made, node.builtinOptions) for size, made in _sizes(reader, node)]
    weights = _plain_weights if reader.file.plain else _delegated_weights
    coarse = [weights(size, made, node.builtinOptions) / 2**bits for size, made in _sizes(reader, node)]
    if all(numpy.array_equal(one, other) for one, other in zip(exact, coarse)):
        return None
    return _mixed(reader, node, coarse)


def _sizes(reader: Any, node: Any) -> list[tuple[int, int]]:
    """Height and width of what a node takes, each with that of what it makes."""
    constant(reader, inputs_of(node)[1])
    taken, made = reader.file.shape(inputs_of(node)[0]), reader.file.shape(int(node.outputs[0]))
    return [(taken[axis], made[axis]) for axis in AXES]


def _nearest(reader: Any, node: Any) -> list[str]:
    layers, value = reader.layers, reader.real(inputs_of(node)[0])
    for axis, (size, made) in zip(AXES, _sizes(reader, node)):
        places = layers.constant(_nearest_places(size, made, node.builtinOptions), "int64")
        value = layers.node("Gather", [value, places], axis=axis)
    return [value]


def _nearest_places(size: int, made: int, options: Any) -> Any:
    """Which element each of the ``made`` ones is; the kernel computes it in float32."""
    numpy = importlib.import_module("numpy")
    single, fewer = numpy.float32, int(options.alignCorners and made > 1)
    scale = single(size - fewer) / single(made - fewer)
    offset = single(0.5 if options.halfPixelCenters else 0.0)
    moved = ((numpy.arange(made).astype(single) + offset) * scale).astype("float64")
    places = numpy.floor(moved + 0.5) if options.alignCorners else numpy.floor(moved)
    return numpy.clip(places, 0, size - 1).astype("int64")


def _bilinear(reader: Any, node: Any) -> list[str]:
    if node.builtinOptions.alignCorners and node.builtinOptions.halfPixelCenters:
        raise Unread("corners that are aligned and pixels by their centres")
    return [_mixed(reader, node, [_mixing(size, made, node.builtinOptions) for size, made in _sizes(reader, node)])]


def _mixed(reader: Any, node: Any, matrices: list[Any]) -> str:
    """The image [N, H, W, C] multiplied by one matrix for its rows and one for its columns."""
    layers, (rows, columns) = reader.layers, matrices
    value = layers.node("Transpose", [reader.real(inputs_of(node)[0])], perm=[0, 3, 1, 2])
    value = layers.node("MatMul", [layers.constant(rows), value])
    value = layers.node("MatMul", [value, layers.constant(columns.T)])
    return str(layers.node("Transpose", [value], perm=[0, 2, 3, 1]))


def _mixing(size: int, made: int, options: Any) -> Any:
    """The exact weights [made, size] of the elements along one axis."""
    numpy = importlib.import_module("numpy")
    fewer, places = int(options.alignCorners and made > 1), numpy.arange(made)
    if options.halfPixelCenters:
        moved = ((2 * places + 1) * size - made) / (2 * made)
    else:
        moved = places * (size - fewer) / (made - fewer)
    moved = numpy.clip(moved, 0, size - 1)
    low = numpy.floor(moved).astype("int64")
    return _matrix(low, numpy.minimum(low + 1, size - 1), moved - low, 1.0, size)


def _delegated_weights(size: int, made: int, options: Any) -> Any:
    """XNNPACK's weights [made, size] in parts of 2^-11, of places in float32."""
    numpy = importlib.import_module("numpy")
    single, fewer = numpy.float32, int(options.alignCorners and made > 1)
    scale = single(size - fewer) / single(made - fewer)
    moved = numpy.arange(made).astype(single) * scale
    if options.halfPixelCenters:
        moved = numpy.clip(moved + (single(0.5) * scale - single(0.5)), single(0), single(size - 1))
    low = moved.astype("int64")
    share = numpy.rint((moved - low.astype(single)) * single(2**DELEGATED)).astype("int64")
    return _matrix(low, numpy.minimum(low + 1, size - 1), share, 2**DELEGATED, size)


def _plain_weights(size: int, made: int, options: Any) -> Any:
    """TFLite's own weights [made, size] in parts of 2^-10, of places in such parts."""
    numpy, one = importlib.import_module("numpy"), 2**PLAIN
    fewer = int(options.alignCorners and made > 1)
    scale = (one * (size - fewer) + (made - fewer) // 2) // (made - fewer)
    moved = numpy.arange(made) * scale
    if options.halfPixelCenters:
        moved = moved + scale // 2 - one // 2
    low = numpy.maximum(moved, 0) // one
    high = numpy.minimum(numpy.maximum(moved + one - 1, 0) // one, size - 1)
    return _matrix(low, high, moved - one * low, one, size)


def _matrix(low: Any, high: Any, share: Any, one: float, size: int) -> Any:
    """Weights of the elements ``low`` and ``high``, of which the second has a ``share`` of ``one``."""
    numpy = importlib.import_module("numpy")
    matrix = numpy.zeros((len(low), size))
    rows = numpy.arange(len(low))
    numpy.add.at(matrix, (rows, low), one - share)
    numpy.add.at(matrix, (rows, high), share)
    return matrix


RESIZING: Mapping[str, Callable[[Any, Any], list[str]]] = {
    "RESIZE_NEAREST_NEIGHBOR": _nearest,
    "RESIZE_BILINEAR": _bilinear,
}
