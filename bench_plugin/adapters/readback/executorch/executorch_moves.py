"""PyTorch's operators (ATen) that move values and do not compute, in ONNX's; and what all translations share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.toolkit.rebuilding import Unread

ADAPTER = {
    "name": "executorch_moves",
    "kind": "tool",
    "toolchain": "executorch",
    "title": "ATen's operators that move values",
    "distribution": "torch",
    "operations": [],
}


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("torch", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def shape_of(node: Any) -> list[int]:
    """The sizes of what a node makes. Raises Unread for one without a fixed shape."""
    value = node.meta.get("val")
    sizes = list(getattr(value, "shape", []))
    if value is None or not all(isinstance(size, int) for size in sizes):
        raise Unread("a shape that is not fixed")
    return [int(size) for size in sizes]


def argument(node: Any, place: int, name: str, default: Any) -> Any:
    """The argument of a node by place or by name."""
    return node.args[place] if len(node.args) > place else node.kwargs.get(name, default)


def axis_of(node: Any, value: int, *, of: Any = None) -> int:
    """An axis from 0 on, of what a node makes or of what it takes."""
    return int(value) % len(shape_of(of if of is not None else node))


def same(operator: Callable[[Any, Any], list[str]], *names: str) -> dict[str, Callable[[Any, Any], list[str]]]:
    """The translation of several operators that do the same."""
    return dict.fromkeys(names, operator)


def _reshape(reader: Any, node: Any) -> list[str]:
    shape = reader.layers.constant(shape_of(node), "int64")
    return [reader.layers.node("Reshape", [reader.real(node.args[0]), shape])]


def _permute(reader: Any, node: Any) -> list[str]:
    order = [axis_of(node, axis) for axis in node.args[1]]
    return [reader.layers.node("Transpose", [reader.real(node.args[0])], perm=order)]


def _transpose(reader: Any, node: Any) -> list[str]:
    order = list(range(len(shape_of(node))))
    first, second = (axis_of(node, axis) for axis in node.args[1:3])
    order[first], order[second] = order[second], order[first]
    return [reader.layers.node("Transpose", [reader.real(node.args[0])], perm=order)]


def _select(reader: Any, node: Any) -> list[str]:
    axis = axis_of(node, node.args[1], of=node.args[0])
    place = reader.layers.constant(int(node.args[2]), "int64")
    return [reader.layers.node("Gather", [reader.real(node.args[0]), place], axis=axis)]


def _slice(reader: Any, node: Any) -> list[str]:
    axis = axis_of(node, argument(node, 1, "dim", 0))
    first, last, step = (argument(node, place, name, None) for place, name in ((2, "start"), (3, "end"), (4, "step")))
    size = shape_of(node.args[0])[axis]
    ends = (first or 0, size if last is None else min(int(last), size), axis, step or 1)
    parts = [reader.layers.constant([int(one)], "int64") for one in ends]
    return [reader.layers.node("Slice", [reader.real(node.args[0]), *parts])]


def _unbind(reader: Any, node: Any) -> list[str]:
    layers, sizes = reader.layers, shape_of(node.args[0])
    axis = axis_of(node, argument(node, 1, "dim", 0), of=node.args[0])
    parts = [reader.real(node.args[0]), layers.constant([1] * sizes[axis], "int64")]
    shape = layers.constant([size for place, size in enumerate(sizes) if place != axis], "int64")
    return [layers.node("Reshape", [part, shape]) for part in layers.split("Split", parts, sizes[axis], axis=axis)]


def _split(reader: Any, node: Any) -> list[str]:
    """The parts along an axis, with the sizes that the program says they have."""
    axis = axis_of(node, argument(node, 2, "dim", 0), of=node.args[0])
    sizes = [int(part.shape[axis]) for part in node.meta["val"]]
    given = [reader.real(node.args[0]), reader.layers.constant(sizes, "int64")]
    return list(reader.layers.split("Split", given, len(sizes), axis=axis))


def _pad(reader: Any, node: Any) -> list[str]:
    """Constant numbers around the last dimensions, which PyTorch names from the last one on."""
    if argument(node, 2, "mode", "constant") != "constant":
        raise Unread("padding that is not constant")
    return _padded(reader, node, argument(node, 3, "value", None))


def _constant_pad(reader: Any, node: Any) -> list[str]:
    return _padded(reader, node, argument(node, 2, "value", 0))


def _padded(reader: Any, node: Any, value: Any) -> list[str]:
    pairs, rank = list(node.args[1]), len(shape_of(node))
    front = [0] * (rank - len(pairs) // 2)
    begins, ends = (front + [int(one) for one in pairs[place::2]][::-1] for place in (0, 1))
    given = [reader.real(node.args[0]), reader.layers.constant([*begins, *ends], "int64")]
    return [reader.layers.node("Pad", [*given, reader.layers.constant(float(value or 0))])]


def _concatenation(reader: Any, node: Any) -> list[str]:
    axis = axis_of(node, argument(node, 1, "dim", 0))
    return [reader.layers.node("Concat", [reader.real(one) for one in node.args[0]], axis=axis)]


def _identity(reader: Any, node: Any) -> list[str]:
    return [reader.real(node.args[0])]


def _pixel_shuffle(reader: Any, node: Any) -> list[str]:
    size = int(node.args[1])
    return [reader.layers.node("DepthToSpace", [reader.real(node.args[0])], blocksize=size, mode="CRD")]


MOVES: Mapping[str, Callable[[Any, Any], Sequence[str]]] = {
    **same(_reshape, "view", "reshape", "flatten", "unflatten", "unsqueeze", "squeeze", "_unsafe_view"),
    "permute": _permute, "transpose": _transpose, "select": _select, "slice": _slice, "cat": _concatenation,
    "unbind": _unbind, **same(_split, "chunk", "split", "split_with_sizes"), "pad": _pad,
    "constant_pad_nd": _constant_pad, "pixel_shuffle": _pixel_shuffle,
    **same(_identity, "contiguous", "clone", "alias", "detach", "lift_fresh_copy"),
}  # fmt: skip
