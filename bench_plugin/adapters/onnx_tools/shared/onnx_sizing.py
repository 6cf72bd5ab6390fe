"""What computes sizes and indices of an ONNX graph in floats: kept apart while the graph is converted to float16."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from bench_plugin.adapters.onnx_tools.shared import onnx_names
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_sizing",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Computed sizes in ONNX graphs",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_names"],
}

FLOAT = 1
INTEGERS = (2, 3, 4, 5, 6, 7, 12, 13)
SHAPES = ("Shape", "Size")  # what they give is known without the values of their inputs
ROI_OF_CROPS = 1  # the place of a region, which decides a size in one mode of Resize alone
SCALED = {"Resize": (1, 2), "Upsample": (1,)}
WIDE = "_float32"  # behind the name of a weight whose copy keeps float32
NARROW = "_narrow"  # behind the name of a result that is computed in float32 and used in float16


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx")

    def reset(self) -> None:
        """Nothing to forget."""


def apart(onnx: Any, model: Any, convert: Callable[[Any], None], kept: Collection[str]) -> None:
    """Convert the model in place, without the nodes that compute its sizes; these, and their weights, keep float32.

    A scale of 4/3 in float16 makes 11 elements of 9, and not 12. ``kept`` are the operators that ``convert`` leaves in
    float32, with casts around them. Sizes that depend on the values of an input, and those in branches and bodies, are
    converted with the rest.
    """
    graph = model.graph
    sizing = _sizing(graph)
    others = [node for node in graph.node if not any(node is one for one in sizing)]
    made = {name for node in sizing for name in node.output}
    casts = _narrowed(onnx, others, made & _floats(graph), kept)
    weights = _weights(graph, sizing, others)
    held = [_same(node) for node in sizing]
    values = [_same(value) for value in graph.value_info if value.name in made]
    _replace(graph.node, [*casts, *others])
    _replace(graph.value_info, [value for value in graph.value_info if value.name not in made])
    _replace(graph.initializer, [one for one in graph.initializer if one.name not in weights])
    convert(model)
    graph.node.extend(held)
    graph.value_info.extend(values)
    graph.initializer.extend(weights.values())


def _sizing(graph: Any) -> list[Any]:
    """The nodes whose results end in a scale of Resize, an integer or a Range, and depend on shapes and weights alone.

    Not among them is what branches and bodies read.
    """
    inside = {name for node in graph.node for name in onnx_names.read_by(node) - set(node.input)}
    inside |= {value.name for value in graph.output}
    known, static = {tensor.name for tensor in graph.initializer}, []
    for node in graph.node:
        plain = node.op_type in SHAPES or onnx_names.read_by(node) <= known
        if plain and inside.isdisjoint(node.output) and "Random" not in node.op_type:
            static.append(node)
            known.update(node.output)
    wanted = {node.input[place] for node in graph.node for place in range(len(node.input)) if _scales(node, place)}
    for node in static:
        if node.op_type == "Range":
            wanted.update(node.input)
        if node.op_type == "Cast" and _target(node) in INTEGERS:
            wanted.update(node.output)
    found = []
    for node in reversed(static):
        if not wanted.isdisjoint(node.output):
            found.append(node)
            wanted |= set(node.input) if node.op_type not in SHAPES else set()
    return found[::-1]


def _scales(node: Any, place: int) -> bool:
    """Whether an input of a node holds floats that decide the size of its result."""
    if node.op_type != "Resize" or place != ROI_OF_CROPS or len(node.input) == ROI_OF_CROPS + 1:
        return place in SCALED.get(node.op_type, ())
    return any(one.s == b"tf_crop_and_resize" for one in node.attribute)


def _target(node: Any) -> int:
    return next((int(attribute.i) for attribute in node.attribute if attribute.name == "to"), 0)


def _floats(graph: Any) -> set[str]:
    """The results of the graph that are declared, or inferred, as float32."""
    return {value.name for value in graph.value_info if value.type.tensor_type.elem_type == FLOAT}


def _weights(graph: Any, sizing: Sequence[Any], others: Sequence[Any]) -> dict[str, Any]:
    """The weights of floats that decide sizes, by name; those that others read too are copies under another name."""
    floats = {tensor.name: tensor for tensor in graph.initializer if tensor.data_type == FLOAT}
    places = [(node, place) for node in others for place in range(len(node.input)) if _scales(node, place)]
    places += [(node, place) for node in sizing for place in range(len(node.input))]
    elsewhere = {name for node in others for name in onnx_names.read_by(node) - set(node.input)}
    elsewhere |= {name for node in others for place, name in enumerate(node.input) if not _scales(node, place)}
    elsewhere |= {value.name for value in graph.output}
    weights = {}
    for node, place in places:
        name = node.input[place]
        if name in floats:
            weight = _same(floats[name])
            node.input[place] = weight.name = name + WIDE if name in elsewhere else name
            weights[weight.name] = weight
    return weights


def _narrowed(onnx: Any, nodes: Iterable[Any], made: set[str], kept: Collection[str]) -> list[Any]:
    """Casts of what is computed apart for the nodes that take it in float16; the converter makes their type that."""
    casts = {}
    for node in nodes:
        for place, name in enumerate(node.input):
            if name in made and not _scales(node, place) and node.op_type not in kept:
                node.input[place] = name + NARROW
                casts[name] = onnx.helper.make_node("Cast", [name], [name + NARROW], name=name + NARROW, to=FLOAT)
    return list(casts.values())


def _same(message: Any) -> Any:
    return type(message).FromString(message.SerializeToString())


def _replace(field: Any, rows: Iterable[Any]) -> None:
    copies = [_same(row) for row in rows]  # what a field held is gone once it is emptied
    del field[:]
    field.extend(copies)
