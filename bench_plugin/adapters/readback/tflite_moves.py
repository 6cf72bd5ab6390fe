"""TFLite's operators that move values and do not compute, in ONNX's; and what all translations of operators share."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from typing import Any

from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.toolkit.rebuilding import Unread

ADAPTER = {
    "name": "tflite_moves",
    "kind": "tool",
    "toolchain": "tensorflow",
    "title": "TFLite's operators that move values",
    "distribution": "ai-edge-litert",
    "operations": [],
}


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("ai-edge-litert", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def inputs_of(node: Any) -> list[int]:
    """The tensors that a node takes; -1 stands for one that is left out."""
    return [int(index) for index in node.inputs]


def constant(reader: Any, index: int) -> Any:
    """The values of a constant as they are stored. Raises Unread for one that is computed."""
    values = reader.file.values(index)
    if values is None:
        raise Unread("a parameter that is computed")
    return values


def reduced_axes(reader: Any, node: Any) -> list[int]:
    """The axes that a reduction goes over, from 0 on. Raises Unread where they are computed."""
    taken, axes = inputs_of(node)[:2]
    rank = len(reader.file.shape(taken))
    return sorted({int(axis) % rank for axis in constant(reader, axes).reshape(-1)})


def shaped(reader: Any, value: str, index: int) -> str:
    """A value in the shape of a tensor of the file."""
    shape = reader.layers.constant(reader.file.shape(index), "int64")
    return str(reader.layers.node("Reshape", [value, shape]))


def _reshape(reader: Any, node: Any) -> list[str]:
    return [shaped(reader, reader.real(inputs_of(node)[0]), int(node.outputs[0]))]


def _transpose(reader: Any, node: Any) -> list[str]:
    inputs = inputs_of(node)
    order = [int(one) for one in constant(reader, inputs[1])]
    return [reader.layers.node("Transpose", [reader.real(inputs[0])], perm=order)]


def _pad(reader: Any, node: Any) -> list[str]:
    layers, inputs = reader.layers, inputs_of(node)
    pads = constant(reader, inputs[1])
    value = reader.real(inputs[2]) if len(inputs) > 2 else layers.constant(0.0)
    flat = layers.node("Reshape", [value, layers.constant([], "int64")])
    both = layers.constant([*pads[:, 0], *pads[:, 1]], "int64")
    return [layers.node("Pad", [reader.real(inputs[0]), both, flat])]


def _slice(reader: Any, node: Any) -> list[str]:
    layers, inputs = reader.layers, inputs_of(node)
    begin = [int(one) for one in constant(reader, inputs[1])]
    end = [first + size for first, size in zip(begin, reader.file.shape(int(node.outputs[0])))]
    return [layers.node("Slice", [reader.real(inputs[0]), *(layers.constant(one, "int64") for one in (begin, end))])]


def _strided_slice(reader: Any, node: Any) -> list[str]:
    layers, inputs, options = reader.layers, inputs_of(node), node.builtinOptions
    if options.ellipsisMask or options.newAxisMask:
        raise Unread("masks of new axes")
    begin, end, step = ([int(one) for one in constant(reader, index)] for index in inputs[1:4])
    sizes = reader.file.shape(inputs[0])
    for axis in range(len(begin)):
        if step[axis] < 1:
            raise Unread("a negative stride")
        if options.beginMask >> axis & 1:
            begin[axis] = 0
        if options.endMask >> axis & 1:
            end[axis] = sizes[axis]
        if options.shrinkAxisMask >> axis & 1:
            end[axis] = begin[axis] % sizes[axis] + 1
            begin[axis] %= sizes[axis]
    axes = list(range(len(begin)))
    parts = (layers.constant(one, "int64") for one in (begin, end, axes, step))
    return [shaped(reader, layers.node("Slice", [reader.real(inputs[0]), *parts]), int(node.outputs[0]))]


def _split(reader: Any, node: Any, value: int, axis: int) -> list[str]:
    layers, made = reader.layers, [int(index) for index in node.outputs]
    along = int(constant(reader, axis).reshape(-1)[0]) % len(reader.file.shape(value))
    sizes = [reader.file.shape(index)[along] for index in made]
    found = layers.split("Split", [reader.real(value), layers.constant(sizes, "int64")], len(made), axis=along)
    return list(found)


def _unpack(reader: Any, node: Any) -> list[str]:
    layers, index, made = reader.layers, inputs_of(node)[0], [int(one) for one in node.outputs]
    axis = node.builtinOptions.axis % len(reader.file.shape(index))
    sizes = layers.constant([1] * len(made), "int64")
    parts = layers.split("Split", [reader.real(index), sizes], len(made), axis=axis)
    return [shaped(reader, part, one) for part, one in zip(parts, made)]


def _pack(reader: Any, node: Any) -> list[str]:
    layers, made = reader.layers, reader.file.shape(int(node.outputs[0]))
    axis = node.builtinOptions.axis % len(made)
    shape = layers.constant([1 if place == axis else size for place, size in enumerate(made)], "int64")
    values = [layers.node("Reshape", [reader.real(index), shape]) for index in inputs_of(node)]
    return [layers.node("Concat", values, axis=axis)]


def _gather(reader: Any, node: Any) -> list[str]:
    layers, inputs, options = reader.layers, inputs_of(node), node.builtinOptions
    if options.batchDims:
        raise Unread("batch dimensions")
    numbers = layers.node("Cast", [reader.real(inputs[1])], to=7)
    return [layers.node("Gather", [reader.operand("GATHER", inputs[0]), numbers], axis=options.axis)]


def _broadcast(reader: Any, node: Any) -> list[str]:
    shape = reader.layers.constant(reader.file.shape(int(node.outputs[0])), "int64")
    return [reader.layers.node("Expand", [reader.real(inputs_of(node)[0]), shape])]


def _space_to_batch(reader: Any, node: Any) -> list[str]:
    """Blocks of neighbours become samples; what is padded is zero."""
    layers, inputs = reader.layers, inputs_of(node)
    block, pads = (constant(reader, index).tolist() for index in inputs[1:3])
    shape = reader.file.shape(inputs[0])
    rank, rest = len(block), shape[len(block) + 1 :]
    before, after = ([0, *(one[end] for one in pads), *(0 for _ in rest)] for end in (0, 1))
    value = layers.node("Pad", [reader.real(inputs[0]), layers.constant([*before, *after], "int64")])
    padded = [size + sum(pad) for size, pad in zip(shape[1:], pads)]
    split = [part for size, one in zip(padded, block) for part in (size // one, one)]
    order = [*range(2, 2 * rank + 1, 2), 0, *range(1, 2 * rank, 2), *range(2 * rank + 1, 2 * rank + 1 + len(rest))]
    value = layers.node("Reshape", [value, layers.constant([shape[0], *split, *rest], "int64")])
    return [shaped(reader, layers.node("Transpose", [value], perm=order), int(node.outputs[0]))]


def _batch_to_space(reader: Any, node: Any) -> list[str]:
    """The inverse, of which the ends are cropped."""
    layers, inputs = reader.layers, inputs_of(node)
    block, crops = (constant(reader, index).tolist() for index in inputs[1:3])
    shape = reader.file.shape(inputs[0])
    rank, rest, samples = len(block), shape[len(block) + 1 :], shape[0] // math.prod(block)
    sizes = [size * one for size, one in zip(shape[1:], block)]
    order = [rank, *(axis for place in range(rank) for axis in (rank + 1 + place, place))]
    order += range(2 * rank + 1, 2 * rank + 1 + len(rest))
    apart = layers.constant([*block, samples, *shape[1:]], "int64")
    value = layers.node("Transpose", [layers.node("Reshape", [reader.real(inputs[0]), apart])], perm=order)
    value = layers.node("Reshape", [value, layers.constant([samples, *sizes, *rest], "int64")])
    first, last = [crop[0] for crop in crops], [size - crop[1] for size, crop in zip(sizes, crops)]
    ends = (layers.constant(one, "int64") for one in (first, last, [*range(1, rank + 1)]))
    return [layers.node("Slice", [value, *ends])]


def _depth_to_space(reader: Any, node: Any) -> list[str]:
    """The channels of a pixel become a block of pixels, of which each has its channels side by side."""
    (count, height, width, _), size = reader.file.shape(inputs_of(node)[0]), node.builtinOptions.blockSize
    depth = reader.file.shape(int(node.outputs[0]))[-1]
    return [_blocks(reader, node, [count, height, width, size, size, depth])]


def _space_to_depth(reader: Any, node: Any) -> list[str]:
    """The inverse."""
    (count, height, width, depth), size = reader.file.shape(inputs_of(node)[0]), node.builtinOptions.blockSize
    return [_blocks(reader, node, [count, height // size, size, width // size, size, depth])]


def _blocks(reader: Any, node: Any, shape: list[int]) -> str:
    value = reader.layers.node("Reshape", [reader.real(inputs_of(node)[0]), reader.layers.constant(shape, "int64")])
    return shaped(reader, reader.layers.node("Transpose", [value], perm=[0, 1, 3, 2, 4, 5]), int(node.outputs[0]))


def _mirror_pad(reader: Any, node: Any) -> list[str]:
    """What is padded are the elements next to the border, with that at the border (SYMMETRIC) or without (REFLECT)."""
    numpy = importlib.import_module("numpy")
    layers, inputs = reader.layers, inputs_of(node)
    value, mode = reader.real(inputs[0]), "symmetric" if node.builtinOptions.mode else "reflect"
    for axis, (size, pads) in enumerate(zip(reader.file.shape(inputs[0]), constant(reader, inputs[1]).tolist())):
        if any(pads):
            places = layers.constant(numpy.pad(numpy.arange(size), pads, mode=mode), "int64")
            value = layers.node("Gather", [value, places], axis=axis)
    return [value]


def _tile(reader: Any, node: Any) -> list[str]:
    inputs = inputs_of(node)
    counts = reader.layers.constant(constant(reader, inputs[1]), "int64")
    return [reader.layers.node("Tile", [reader.real(inputs[0]), counts])]


MOVES: Mapping[str, Callable[[Any, Any], list[str]]] = {
    "RESHAPE": _reshape, "EXPAND_DIMS": _reshape, "SQUEEZE": _reshape, "TRANSPOSE": _transpose,
    "PAD": _pad, "PADV2": _pad, "SLICE": _slice, "STRIDED_SLICE": _strided_slice, "GATHER": _gather,
    "SPLIT": lambda reader, node: _split(reader, node, inputs_of(node)[1], inputs_of(node)[0]),
    "SPLIT_V": lambda reader, node: _split(reader, node, inputs_of(node)[0], inputs_of(node)[2]),
    "PACK": _pack, "UNPACK": _unpack, "BROADCAST_TO": _broadcast,
    "SPACE_TO_BATCH_ND": _space_to_batch, "BATCH_TO_SPACE_ND": _batch_to_space,
    "DEPTH_TO_SPACE": _depth_to_space, "SPACE_TO_DEPTH": _space_to_depth, "MIRROR_PAD": _mirror_pad,
    "TILE": _tile,
}  # fmt: skip
