"""Reading ONNX files: plain weights, types by name, and which names a node reads, also in branches and bodies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_names",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Names in ONNX graphs",
    "distribution": "onnx",
    "operations": [],
}

PLAIN_WEIGHTS = 4  # the version of the format from which on weights need not be inputs, too


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx")

    def reset(self) -> None:
        """Nothing to forget."""


def loaded(onnx: Any, path: str) -> Any:
    """The model; weights that old exporters list as inputs too, so that callers may replace them, are plain weights.

    Versions of the format before 4 have no such ones, nor what is made of the model later.
    """
    model = onnx.load(path)
    model.ir_version = max(model.ir_version, PLAIN_WEIGHTS)
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    return model


def types_of(onnx: Any, model: Any) -> dict[str, int]:
    """The element types (TensorProto.DataType) of the values of the graph, those that are known: where the types of the
    file do not fit together, those that it declares.
    """
    try:
        graph = onnx.shape_inference.infer_shapes(model).graph
    except (onnx.shape_inference.InferenceError, ValueError, RuntimeError):  # the checker's objection says why
        graph = model.graph
    return {value.name: value.type.tensor_type.elem_type for value in (*graph.value_info, *graph.output, *graph.input)}


def graphs(graph: Any) -> Iterator[Any]:
    """A graph, and those that its nodes have (bodies of Loop, Scan and If), at any depth."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from graphs(inner)


def nodes(graph: Any) -> list[Any]:
    """The nodes of a graph, and of those that these have."""
    return [node for one in graphs(graph) for node in one.node]


def dimensions(value: Any) -> list[Any]:
    """The declared sizes of a tensor (ValueInfoProto): numbers, names, and "" for one that is not said."""
    dims = value.type.tensor_type.shape.dim
    return [dim.dim_value if dim.HasField("dim_value") else dim.dim_param for dim in dims]


def read_by(node: Any) -> set[str]:
    """The names that a node needs of the graph that it stands in: its inputs, and what its subgraphs take of it."""
    names = {name for name in node.input if name}
    for attribute in node.attribute:
        for graph in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
            names |= _from_outside(graph)
    return names


def _from_outside(graph: Any) -> set[str]:
    own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    own |= {name for node in graph.node for name in node.output}
    needed = {name for node in graph.node for name in read_by(node)} | {value.name for value in graph.output}
    return needed - own


def sort_nodes(graph: Any) -> bool:
    """Put the nodes into the order of their use, where they are not; whether that changed the graph.

    Raises RuntimeError where no order exists.
    """
    known = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    waiting, ordered = list(graph.node), []
    while waiting:
        later = []
        for node in waiting:
            if read_by(node) <= known:
                known.update(node.output)
                ordered.append(node)
            else:
                later.append(node)
        if len(later) == len(waiting):
            raise RuntimeError(_without_order(waiting, known))
        waiting = later
    if all(one is other for one, other in zip(ordered, graph.node)):
        return False
    nodes = [type(node).FromString(node.SerializeToString()) for node in ordered]
    del graph.node[:]
    graph.node.extend(nodes)
    return True


def _without_order(waiting: list[Any], known: set[str]) -> str:
    """Why these nodes have no order of use, where so much is ``known``: one reads what nothing makes, or a cycle."""
    made = {name for node in waiting for name in node.output}
    for node in waiting:
        gone = sorted(read_by(node) - known - made)
        if gone:
            return f"{_called(node)} reads {', '.join(gone)}, which nothing makes"
    return f"the graph has a cycle through {_called(waiting[0])}"


def _called(node: Any) -> str:
    return f"{node.op_type} {node.name or node.output[0]!r}"


def opset(model: Any) -> int:
    """The version of ONNX's own operators that the model has; 0 where it names none."""
    return next((int(one.version) for one in model.opset_import if one.domain in ("", "ai.onnx")), 0)
