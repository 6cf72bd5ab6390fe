"""A cell's graph, parts of it that are files of their own, and what became of them when they were tried."""

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
    """There is no graph to extract from, or no defect to look for."""

    exit_code = 3


@dataclass(frozen=True)
class Node:
    """A node of the graph; constants are none. ``index`` is its number in the file."""

    index: int
    operator: str
    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]


@dataclass(frozen=True)
class Graph:
    """A file whose subgraphs can be extracted: nodes in order, and every tensor's value as the file's types hold it."""

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
        """What a message may call parts of the graph by."""
        return frozenset({*self.types, *self.values, *(node.name for node in self.nodes)}) | frozenset(
            name for node in self.nodes for name in node.reads
        )

    @property
    def makers(self) -> dict[str, int]:
        """The position in ``nodes`` of every tensor's node."""
        return {name: place for place, node in enumerate(self.nodes) for name in node.writes}


@dataclass(frozen=True)
class Part:
    """A file of its own with its inputs [N, ...]; ``segments`` are the outputs' positions, by segment."""

    path: Path
    exact: Path
    inputs: tuple[Mapping[str, Any], ...]
    outputs: tuple[Mapping[str, Any], ...]
    arrays: Mapping[str, Array]
    described: Mapping[str, Any]
    segments: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Ran:
    """What became of a part: its outputs [N, ...], or where it failed."""

    failure: Failure | None
    outputs: tuple[Array, ...] = ()
    seconds: float = 0.0


@dataclass
class Origin:
    """The file as the cell's tool was given it, and its inputs."""

    path: Path
    described: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    binding: Mapping[str, int]
    arrays: dict[str, Any] = field(default_factory=dict)
