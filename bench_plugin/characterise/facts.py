"""What an ONNX file is made of: the records of ``facts.json``, which adapters/characterise/onnx_facts.py writes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Bits of an element by ONNX's name of its type.
BITS = {
    "float": 32, "float16": 16, "bfloat16": 16, "double": 64, "int8": 8, "uint8": 8, "int16": 16, "uint16": 16,
    "int32": 32, "uint32": 32, "int64": 64, "uint64": 64, "bool": 8, "complex64": 64, "complex128": 128, "int4": 4,
    "uint4": 4, "int2": 2, "uint2": 2, "float4e2m1": 4, "float8e4m3fn": 8, "float8e4m3fnuz": 8, "float8e5m2": 8,
    "float8e5m2fnuz": 8, "float8e8m0": 8,
}  # fmt: skip
FLOATING = ("float", "float16", "bfloat16", "double")


@dataclass(frozen=True)
class Tensor:
    """A tensor: ONNX's name of its type, its shape with None for what is not known, whether it is constant.

    ``shape`` is None where not even the rank is known; ``values`` are those of a small constant of integers, flat.
    """

    dtype: str
    shape: tuple[int | None, ...] | None
    constant: bool = False
    values: tuple[int, ...] | None = None

    @property
    def elements(self) -> int | None:
        """How many elements it has; None where that is not known.

        >>> Tensor("float", (2, 3)).elements, Tensor("float", (2, None)).elements
        (6, None)
        """
        known = self.known
        return None if known is None else math.prod(known)

    @property
    def known(self) -> tuple[int, ...] | None:
        """Its shape where every dimension is known, else None."""
        if self.shape is None:
            return None
        known = tuple(size for size in self.shape if size is not None)
        return known if len(known) == len(self.shape) else None

    def bits(self, floating: int = 0) -> int:
        """The bits of one element; of a floating-point type ``floating`` bits, where that is given."""
        if floating and self.dtype in FLOATING:
            return floating
        return BITS.get(self.dtype, 0)


UNKNOWN = Tensor("", None)


@dataclass(frozen=True)
class Node:
    """A node. ``within`` says which subgraph of which operator it stands in; empty for the graph itself."""

    name: str
    operator: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    within: str = ""


@dataclass(frozen=True)
class Facts:
    """A graph: the names of its inputs and outputs, its nodes in the order of the file, and its tensors by name.

    ``opsets`` are the versions of the operator sets that the file imports, by domain.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    tensors: Mapping[str, Tensor]
    opsets: Mapping[str, int] = field(default_factory=dict)

    def tensor(self, name: str) -> Tensor:
        """A tensor by name; one of which nothing is known where the file does not say anything."""
        return self.tensors.get(name, UNKNOWN)

    @staticmethod
    def read(said: Mapping[str, Any]) -> Facts:
        """The facts of the JSON object ``said``. What follows from constants alone is marked constant, too."""
        tensors = {
            name: Tensor(
                row["dtype"], None if row["shape"] is None else tuple(row["shape"]), bool(row.get("weight")),
                tuple(row["values"]) if "values" in row else None,
            )
            for name, row in said["tensors"].items()
        }  # fmt: skip
        nodes = tuple(
            Node(
                row["name"], row["operator"], row["domain"], tuple(row["inputs"]), tuple(row["outputs"]),
                row["attributes"], row["within"],
            )
            for row in said["nodes"]
        )  # fmt: skip
        for node in nodes:
            named = [name for name in node.inputs if name]
            if named and all(tensors.get(name, UNKNOWN).constant for name in named):
                for name in node.outputs:
                    tensor = tensors.get(name, UNKNOWN)
                    tensors[name] = Tensor(tensor.dtype, tensor.shape, constant=True)
        opsets = {name: int(version) for name, version in said.get("opsets", {}).items()}
        return Facts(tuple(said["inputs"]), tuple(said["outputs"]), nodes, tensors, opsets)
