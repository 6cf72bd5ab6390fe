"""The graph of a cell, its parts, which are files of their own, and the results of their trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.domain.errors import BenchError
from bench_plugin.domain.outcome import Failure

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


class CannotSay(BenchError):
    """The diagnosis is not possible: there is no graph to extract from, or no defect to look for."""

    exit_code = 3


@dataclass(frozen=True)
class Node:
    """A node of the graph that is not a constant. ``index`` is its number in the file."""

    index: int
    operator: str
    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]


@dataclass(frozen=True)
class Graph:
    """A file whose subgraphs can be extracted: nodes in topological order, and the value of every tensor.

    ``values`` are [N, ...] over N inputs in the types of the file, ``exact`` the same tensors in float64; ``fixed``
    names the constants.
    """

    path: Path
    nodes: tuple[Node, ...]
    fixed: frozenset[str]
    outputs: tuple[str, ...]
    inputs: tuple[Mapping[str, Any], ...]
    types: Mapping[str, str]
    values: Mapping[str, Array]
    exact: Mapping[str, Array]

    @property
    def names(self) -> frozenset[str]:
        """The names of nodes and tensors that messages may contain."""
        return frozenset({*self.types, *self.values, *(node.name for node in self.nodes)}) | frozenset(
            name for node in self.nodes for name in node.reads
        )

    @property
    def makers(self) -> dict[str, int]:
        """The position in ``nodes`` of the node that writes each tensor."""
        return {name: place for place, node in enumerate(self.nodes) for name in node.writes}


@dataclass(frozen=True)
class Part:
    """A part of the graph as a file of its own, with its inputs ``arrays`` [N, ...] over N samples.

    ``path`` is compiled and ``exact`` gives its float64 reference. ``segments`` are the positions of the outputs of
    each segment.
    """

    path: Path
    exact: Path
    inputs: tuple[Mapping[str, Any], ...]
    outputs: tuple[Mapping[str, Any], ...]
    arrays: Mapping[str, Array]
    described: Mapping[str, Any]
    segments: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Ran:
    """The result of a trial: the outputs [N, ...] of a part over N samples, or its failure; ``seconds`` it took."""

    failure: Failure | None
    outputs: tuple[Array, ...] = ()
    seconds: float = 0.0


@dataclass
class Origin:
    """The file that the cell's tool got, and its inputs ``arrays`` [N, ...] over N samples."""

    path: Path
    described: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    binding: Mapping[str, int]
    arrays: dict[str, Any] = field(default_factory=dict)
