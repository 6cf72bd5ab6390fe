"""A graph that is being generated: sizes, values, attributes and nodes. Needs hypothesis.

Everything is generated so that it shrinks to what is plain: few nodes, low ranks, small sizes, no attributes, a ramp of
values without edge values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from bench_plugin.generation.catalogue import WIDEST, Choice, Operator
from bench_plugin.generation.edges import edge_values
from bench_plugin.generation.graphs import Graph, Node, Port, Source, filled

SIZES = (1, 2, 3, 4, 5)
ELEMENTS = 120  # of one tensor
SEEDS = 2**16
EDGES = 3  # edge values in one tensor
Shape = tuple[int, ...]
Draw = Callable[[st.SearchStrategy[Any]], Any]


class Sketch:
    """A graph that is being generated. ``joined``: later nodes take results of earlier ones, values stay moderate."""

    def __init__(self, draw: Draw, *, joined: bool) -> None:
        self.draw = draw  # for strategies that no method here stands for
        self._joined = joined
        self._nodes: list[Node] = []
        self._sources: list[Source] = []
        self._results: list[Port] = []

    def graph(self) -> Graph:
        """The finished graph; its outputs are the results that nothing takes."""
        taken = {name for node in self._nodes for name in node.inputs}
        outputs = [port for port in self._results if port.name not in taken]
        return Graph(tuple(self._nodes), tuple(self._sources), tuple(outputs))

    def among(self, values: Sequence[Any]) -> Any:
        """One of the values; the first is the simplest."""
        return self.draw(st.sampled_from(values))

    def number(self, low: int, high: int) -> int:
        """A whole number between the bounds."""
        return int(self.draw(st.integers(low, high)))

    def flag(self) -> bool:
        """False, or True."""
        return bool(self.draw(st.booleans()))

    def shape(self, ranks: tuple[int, int], least: int = 0) -> Shape:
        """A shape; sizes of 0 where ``least`` allows it."""
        sizes = SIZES if least else (*SIZES, 0)
        drawn: list[int] = self.draw(st.lists(st.sampled_from(sizes), min_size=ranks[0], max_size=ranks[1]))
        while math.prod(drawn) > ELEMENTS:
            drawn[drawn.index(max(drawn))] = 2
        return tuple(drawn)

    def source(self, row: Operator, dtype: str, shape: Shape, *, constant: bool | None = None) -> Port:
        """A new value by the operator's bounds; some of its elements are edge values."""
        low, high = row.low, row.high
        kind = np.dtype(dtype).kind
        if kind == "u":
            low = max(low, 0)
        edges: Any = []
        widest = "int64" if row.name in WIDEST else "int32"
        choices = edge_values(
            widest if dtype == "int64" else dtype,
            "mild" if self._joined and row.edges != "none" else row.edges,
            low,
            high,
        )
        last = math.prod(shape) - 1
        if choices and last >= 0:
            edges = self.draw(st.lists(st.tuples(st.integers(0, last), st.sampled_from(choices)), max_size=EDGES))
        seed = self.number(0, SEEDS)
        inside = self.flag() if constant is None else constant
        return self._given(filled(dtype, shape, low, high, seed, edges), dtype, constant=inside)

    def literal(self, values: Any, dtype: str = "int64", *, constant: bool = True) -> Port:
        """A value that is given exactly, such as axes."""
        return self._given(np.array(values, dtype=dtype), dtype, constant=constant)

    def operand(self, row: Operator, ranks: tuple[int, int] | None = None) -> Port:
        """The operator's first operand: a result that is there already, where it fits, or a new input."""
        bounds = ranks or row.ranks
        there = self.earlier(row, bounds)
        if there is not None:
            return there
        dtype = self.among(row.types)
        return self.source(row, dtype, self.shape(bounds, row.least), constant=False)

    def earlier(self, row: Operator, ranks: tuple[int, int]) -> Port | None:
        """A result that is there already and that the operator can take, if any."""
        if not self._joined or row.steps:
            return None
        low, high = ranks
        fits = [
            port
            for port in reversed(self._results)
            if port.dtype in row.types and low <= len(port.shape) <= high
            and (not row.least or 0 not in port.shape) and math.prod(port.shape) <= ELEMENTS
        ]  # fmt: skip
        return self.among(fits) if fits else None

    def axis(self, rank: int) -> int:
        """An axis of a rank, counted from either end."""
        chosen = self.number(0, rank - 1)
        return chosen - rank if self.flag() else chosen

    def axes(self, rank: int, least: int = 0) -> list[int]:
        """Distinct axes of a rank."""
        if not rank:
            return []
        drawn = self.draw(st.lists(st.integers(0, rank - 1), min_size=least, max_size=rank, unique=True))
        return [axis - rank if self.flag() else axis for axis in drawn]

    def node(self, row: Operator, inputs: Sequence[Port | None], *results: tuple[str, Shape], **more: Any) -> None:
        """Add the operator with the row's attributes and ``more``."""
        attributes = {name: value for name, value in more.items() if value is not None}
        for name, rule in row.attributes.items():
            if not rule.required and not self.flag():
                continue
            if isinstance(rule, Choice):
                attributes[name] = self.among(rule.values)
            else:
                attributes[name] = float(self.draw(st.floats(rule.low, rule.high, width=32)))
        outputs = [Port(f"r{len(self._results) + place}", dtype, shape) for place, (dtype, shape) in enumerate(results)]
        self._results += outputs
        names = tuple(port.name if port else "" for port in inputs)
        self._nodes.append(Node(row.name, names, tuple(port.name for port in outputs), attributes))

    def _given(self, values: Any, dtype: str, *, constant: bool) -> Port:
        port = Port(f"{'c' if constant else 'x'}{len(self._sources)}", dtype, tuple(values.shape))
        self._sources.append(Source(port, constant, values))
        return port


Family = Callable[[Sketch, Operator], None]  # draws the operands of an operator and adds it
