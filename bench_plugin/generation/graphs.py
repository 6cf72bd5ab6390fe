"""An ONNX graph as plain data, which is generated, sent to an agent, written beside a finding, and read back."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
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


def filled(dtype: str, shape: Sequence[int], low: float, high: float, seed: int, edges: Sequence[Any]) -> Array:
    """An array [*shape] of ``dtype`` with values from ``low`` to ``high``: a ramp for seed 0, else random by the seed.

    ``edges`` are pairs (place, value), whose places count the elements in C order.
    """
    import numpy as np

    size = math.prod(shape)
    flat: Array
    if dtype == "bool":
        flat = np.arange(size) % 2 == 0 if seed == 0 else np.random.default_rng(seed).random(size) < 0.5
    else:
        part = (np.arange(size) + 1) / (size + 1) if seed == 0 else np.random.default_rng(seed).random(size)
        spread = low + part * (high - low)
        flat = (np.rint(spread) if np.dtype(dtype).kind in "iu" else spread).astype(dtype)
    for place, value in edges:
        if size:
            flat[place % size] = value
    return flat.reshape(shape)


def spread(dtype: str, shape: Sequence[int], low: int, high: int, seed: int, edges: Sequence[Any]) -> Array:
    """An array [*shape] of the integer type ``dtype``: half of the numbers are equally likely from ``low`` to ``high``,
    the others have any number of bits with equal likelihood, so that small ones appear beside large ones. Mostly one of
    them is in the eighth of the range beside one of its ends, for tensors are small.

    ``edges`` are as in :func:`filled`. No number passes through floating point, which holds no integer of 64 bits.
    """
    import numpy as np

    generator, size, kind = np.random.default_rng(seed), math.prod(shape), np.dtype(dtype)
    flat = generator.integers(low, high, size, dtype=kind.type, endpoint=True)
    largest = max(abs(low), abs(high)).bit_length()
    for place in np.flatnonzero(generator.random(size) < 0.5).tolist():
        bits = int(generator.integers(0, largest, endpoint=True))
        value = int(generator.integers(0, 2**bits - 1, dtype=np.uint64, endpoint=True))
        negative = low < 0 and (high <= 0 or bool(generator.integers(0, 2)))
        flat[place] = min(max(-value if negative else value, low), high)
    if size and generator.random() < 0.75:
        inward = int(generator.integers(0, (high - low) // 8, dtype=np.uint64, endpoint=True))
        flat[generator.integers(0, size)] = low + inward if low < 0 and generator.random() < 0.5 else high - inward
    for place, value in edges:
        if size:
            flat[place % size] = value
    return flat.reshape(shape)


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
