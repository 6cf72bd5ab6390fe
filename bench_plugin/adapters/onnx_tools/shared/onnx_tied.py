"""Tied weights, which several layers share: copies of them, where a tool changes the weights of each layer apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from bench_plugin.adapters.onnx_tools.shared import onnx_names
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_tied",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Tied weights",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_names"],
}


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx")

    def reset(self) -> None:
        """Nothing to forget."""


def untie(graph: Any, places: Callable[[Any], Sequence[int]]) -> None:
    """Give nodes stored tensors of their own where other nodes read these too, in the graph and in those inside it.

    ``places`` says which inputs of a node are meant, by number; there are none of most nodes.
    """
    graphs = list(onnx_names.graphs(graph))
    nodes = [node for one in graphs for node in one.node]
    readers = Counter(name for node in nodes for name in node.input)
    stored = {tensor.name: (one, tensor) for one in graphs for tensor in one.initializer}
    for node in nodes:
        for place in places(node):
            name = node.input[place] if place < len(node.input) else ""
            if name in stored and readers[name] > 1:
                holder, tensor = stored[name]
                copied = holder.initializer.add()
                copied.CopyFrom(tensor)
                copied.name = node.input[place] = f"{name}_of_{node.output[0]}"
