"""Facts of small graphs, written by hand as the agent would tell them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from bench_plugin.characterise.facts import Facts

Shape = Sequence[int | None]


@dataclass
class Graph:
    """Collects nodes in a chain; every node reads what the one before it made."""

    shape: Shape
    tensors: dict[str, dict[str, Any]] = field(default_factory=dict)
    nodes: list[dict[str, Any]] = field(default_factory=list)
    current: str = "x"

    def __post_init__(self) -> None:
        self.tensors["x"] = {"dtype": "float", "shape": list(self.shape)}

    def weight(self, shape: Shape, dtype: str = "float") -> str:
        """A constant."""
        name = f"w{len(self.tensors)}"
        self.tensors[name] = {"dtype": dtype, "shape": list(shape), "weight": True}
        return name

    def then(
        self, operator: str, shape: Shape | None, *more: str, domain: str = "ai.onnx", within: str = "",
        attributes: Mapping[str, Any] | None = None,
    ) -> Graph:  # fmt: skip
        """Append a node whose output has that shape."""
        made = f"t{len(self.nodes)}"
        self.tensors[made] = {"dtype": "float", "shape": None if shape is None else list(shape)}
        self.nodes.append(
            {
                "name": made, "operator": operator, "domain": domain, "inputs": [self.current, *more],
                "outputs": [made], "attributes": dict(attributes or {}), "within": within,
            }
        )  # fmt: skip
        self.current = made
        return self

    def facts(self, opsets: Mapping[str, int] = {}) -> Facts:
        """The graph, whose output is the last node's."""
        said = {
            "inputs": ["x"], "outputs": [self.current], "nodes": self.nodes, "tensors": self.tensors, "opsets": opsets,
        }  # fmt: skip
        return Facts.read(said)


def mlp(batch: int = 1) -> Facts:
    """QuTiBench's MLP: 784-2048-2048-2048-10."""
    widths = (784, 2048, 2048, 2048, 10)
    graph = Graph((batch, widths[0]))
    for before, after in pairwise(widths):
        graph.then("MatMul", (batch, after), graph.weight((before, after))).then("Relu", (batch, after))
    return graph.facts()


def cnv(batch: int = 1) -> Facts:
    """QuTiBench's CNV: three pairs of valid 3 x 3 convolutions, two of them pooled, and three layers behind them."""
    graph, channels, size = Graph((batch, 3, 32, 32)), 3, 32
    for width in (128, 256, 512):
        for _ in range(2):
            size -= 2
            graph.then("Conv", (batch, width, size, size), graph.weight((width, channels, 3, 3)))
            channels = width
        if width < 512:
            size //= 2
            graph.then("MaxPool", (batch, width, size, size), attributes={"kernel_shape": [2, 2]})
    graph.then("Flatten", (batch, channels))
    for before, after in ((512, 1024), (1024, 1024), (1024, 10)):
        graph.then("Gemm", (batch, after), graph.weight((before, after)))
    return graph.facts()
