"""An ONNX graph as plain data, which is generated, sent to an agent, written beside a finding, and read back."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

OPSET, IR = 17, 8  # every compiler of the operator suite supports these
SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@dataclass(frozen=True)
class Port:
    """A value's name, element type and shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Source:
    """A value from outside the nodes: an input of the graph, or, if ``constant``, an initializer.

    ``values`` has the shape [...] and the dtype of ``port``.
    """

    port: Port
    constant: bool
    values: Array = field(repr=False)


@dataclass(frozen=True)
class Node:
    """One node; an empty name among ``inputs`` is an optional input that is left out."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class Graph:
    """Nodes in topological order, the values that they get from outside, and the outputs."""

    nodes: tuple[Node, ...]
    sources: tuple[Source, ...]
    outputs: tuple[Port, ...]

    @property
    def operators(self) -> tuple[str, ...]:
        """The names of its operators, each once, sorted."""
        return tuple(sorted({node.operator for node in self.nodes}))

    @property
    def names(self) -> frozenset[str]:
        """The names of its values: of sources, and of what the nodes give."""
        made = (name for node in self.nodes for name in node.outputs)
        return frozenset([*(one.port.name for one in self.sources), *made])

    @property
    def has_empty_tensor(self) -> bool:
        """Whether an input, an initializer or an output has no elements."""
        return any(0 in port.shape for port in (*(one.port for one in self.sources), *self.outputs))

    @property
    def digest(self) -> str:
        """SHA-256 of the graph and its values."""
        return hashlib.sha256(json.dumps(self.plain(), sort_keys=True).encode()).hexdigest()

    def structure(self) -> dict[str, Any]:
        """The graph without the values of its sources, as plain data."""
        return {
            "opset": OPSET,
            "ir": IR,
            "nodes": [
                {
                    "operator": node.operator, "inputs": list(node.inputs), "outputs": list(node.outputs),
                    "attributes": dict(node.attributes),
                }
                for node in self.nodes
            ],
            "sources": [{**_port(one.port), "constant": one.constant} for one in self.sources],
            "outputs": [_port(port) for port in self.outputs],
        }  # fmt: skip

    def plain(self) -> dict[str, Any]:
        """The graph as plain data for JSON; numbers that are not finite are text."""
        values = {one.port.name: [_number(value) for value in one.values.reshape(-1).tolist()] for one in self.sources}
        return {**self.structure(), "values": values}

    def text(self) -> str:
        """One line for a person: ``Add(float32[2], float32[1]); Softmax(axis=0)``."""
        known = {one.port.name: one.port for one in self.sources}

        def shown(name: str) -> str:
            port = known.get(name)
            return f"{port.dtype}{list(port.shape)}" if port else (name or "-")

        parts = []
        for node in self.nodes:
            given = [shown(name) for name in node.inputs]
            given += [f"{name}={value}" for name, value in node.attributes.items()]
            parts.append(f"{node.operator}({', '.join(given)})")
        return "; ".join(parts)


def read_graph(plain: Mapping[str, Any]) -> Graph:
    """The inverse of :meth:`Graph.plain`. Raises KeyError, TypeError or ValueError for data of another form."""
    import numpy as np

    sources = []
    for row in plain["sources"]:
        port = Port(row["name"], row["dtype"], tuple(row["shape"]))
        listed = [
            SPECIAL.get(value, value) if isinstance(value, str) else value for value in plain["values"][port.name]
        ]
        sources.append(Source(port, row["constant"], np.array(listed, dtype=port.dtype).reshape(port.shape)))
    nodes = [
        Node(row["operator"], tuple(row["inputs"]), tuple(row["outputs"]), dict(row["attributes"]))
        for row in plain["nodes"]
    ]
    outputs = [Port(row["name"], row["dtype"], tuple(row["shape"])) for row in plain["outputs"]]
    return Graph(tuple(nodes), tuple(sources), tuple(outputs))


@cache
def source_digest() -> str:
    """SHA-256 over the files that decide which graphs are generated."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _port(port: Port) -> dict[str, Any]:
    return {"name": port.name, "dtype": port.dtype, "shape": list(port.shape)}


def _number(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value
