"""A graph that is being generated: sizes, values, attributes and nodes. Needs hypothesis.

Everything shrinks to the simplest graph: few nodes, low ranks, small sizes, no attributes, and a ramp of values without
edge values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from bench_plugin.generation.catalogue import Choice, Operator
from bench_plugin.generation.edges import edge_values
from bench_plugin.generation.graphs import Graph, Node, Port, Source
from bench_plugin.generation.ranges import ROOM_FOR_ONE, ROOMY, integer_range
from bench_plugin.generation.values import beside, filled, spread

SIZES = (1, 2, 3, 4, 5)
SOME = (3, 2, 1)  # where one graph has to show what an operator makes of a type
ELEMENTS = 120  # the most elements of one tensor
SEEDS = 2**16
EDGES = 3  # the most edge values in one tensor
Shape = tuple[int, ...]
Draw = Callable[[st.SearchStrategy[Any]], Any]


class Sketch:
    """A graph that is being generated. If ``joined``, nodes use results of earlier ones, and values stay moderate.

    With ``only``, a type of integers, operands have this type, some elements, and numbers from the whole range.
    """

    def __init__(self, draw: Draw, *, joined: bool, only: str = "") -> None:
        self.draw = draw  # for strategies without a method of this class
        self.only = only
        self._joined = joined
        self._nodes: list[Node] = []
        self._sources: list[Source] = []
        self._results: list[Port] = []

    def graph(self) -> Graph:
        """The finished graph; its outputs are the results that no node uses."""
        taken = {name for node in self._nodes for name in node.inputs}
        outputs = [port for port in self._results if port.name not in taken]
        return Graph(tuple(self._nodes), tuple(self._sources), tuple(outputs))

    def among(self, values: Sequence[Any]) -> Any:
        """One of the values; the first is the simplest."""
        return self.draw(st.sampled_from(values))

    def number(self, low: int, high: int) -> int:
        """A whole number between the bounds, both included."""
        return int(self.draw(st.integers(low, high)))

    def flag(self) -> bool:
        """False, or True."""
        return bool(self.draw(st.booleans()))

    def shape(self, ranks: tuple[int, int], least: int = 0) -> Shape:
        """A shape with a rank from ``ranks`` (both bounds included) and sizes from 1 to 5; also 0 if ``least`` is 0."""
        sizes = SOME if self.only else SIZES if least else (*SIZES, 0)
        fewest = min(1, ranks[1]) if self.only else 0
        drawn: list[int] = self.draw(
            st.lists(st.sampled_from(sizes), min_size=max(ranks[0], fewest), max_size=ranks[1])
        )
        while math.prod(drawn) > ELEMENTS:
            drawn[drawn.index(max(drawn))] = 2
        return tuple(drawn)

    def source(
        self, row: Operator, dtype: str, shape: Shape, *, constant: bool | None = None, first: Port | None = None
    ) -> Port:
        """A new value of this type and shape, within the operator's bounds; some of its elements are edge values.

        ``first`` is the first operand, where this is the second one: its bounds may differ, and an operator that
        compares the two gets some that are equal or nearly equal.
        """
        if np.dtype(dtype).kind in "iu":
            values = self._integers(row, dtype, shape, 1 if first else 0)
        else:
            level = "mild" if self._joined and row.edges != "none" else row.edges
            turns = () if self._joined else row.turns
            edges = self._edges([*turns, *edge_values(dtype, level, row.low, row.high)], shape)
            values = filled(dtype, shape, row.low, row.high, self.number(0, SEEDS), edges)
        if first and row.compares:
            values = self._beside(values, first)
        return self._given(values, dtype, constant=self.flag() if constant is None else constant)

    def divisor(self, row: Operator, dtype: str, shape: Shape, least: int) -> Port:
        """Integers of which none is 0: from the whole range of the type, or one number from ``least`` to 7 for all."""
        if not self.wide(row):
            return self.literal(np.full(shape, self.number(least, 7) or 1), dtype)
        values = self._integers(row, dtype, shape, 1)
        return self._given(np.where(values == 0, values.dtype.type(1), values), dtype, constant=self.flag())

    def wide(self, row: Operator) -> bool:
        """Whether to take integers from the whole range that the operator defines; never in graphs of several nodes."""
        return not self._joined and row.integers != "small" and (bool(self.only) or self.number(0, 3) > 0)

    def whole_number(self, dtype: str) -> int:
        """Any number of an integer type."""
        return self.number(int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))

    def _integers(self, row: Operator, dtype: str, shape: Shape, place: int) -> Any:
        rule = "all" if row.integers == "small" else row.integers
        least, most = integer_range(rule, dtype, place, math.prod(shape))
        level = row.edges if row.integers == "small" else "finite"
        choices = edge_values(dtype, "mild" if self._joined else level, row.low, row.high, (least, most))
        low, high = max(least, row.low), min(most, row.high)
        wide = self.wide(row) or low > high
        edges = self._edges(choices, shape)
        seed = self.number(0, SEEDS)
        if wide:  # two operands with the same seed get other numbers
            seed += (SEEDS + 1) * len(self._sources)
        return spread(dtype, shape, least, most, seed, edges) if wide else filled(dtype, shape, low, high, seed, edges)

    def _beside(self, values: Any, first: Port) -> Any:
        there = next((one.values for one in self._sources if one.port == first), None)
        if there is None or self._joined or values.dtype.kind == "b" or not (self.only or self.flag()):
            return values
        return beside(values, there, self.number(0, SEEDS))

    def _edges(self, choices: Sequence[Any], shape: Shape) -> Any:
        last = math.prod(shape) - 1
        if not choices or last < 0:
            return []
        return self.draw(st.lists(st.tuples(st.integers(0, last), st.sampled_from(choices)), max_size=EDGES))

    def literal(self, values: Any, dtype: str = "int64", *, constant: bool = True) -> Port:
        """A new value with exactly these elements (a scalar, or lists of any shape), such as axes."""
        return self._given(np.array(values, dtype=dtype), dtype, constant=constant)

    def operand(self, row: Operator, ranks: tuple[int, int] | None = None) -> Port:
        """The operator's first operand: an earlier result if one fits, else a new input."""
        bounds = ranks or row.ranks
        there = self.earlier(row, bounds)
        if there is not None:
            return there
        dtype = self.dtype(row)
        return self.source(row, dtype, self.shape(bounds, row.least), constant=False)

    def types(self, row: Operator) -> tuple[str, ...]:
        """The types that the operator may get; in a graph of several nodes only those that leave room for all."""
        if self._joined and row.integers in ROOM_FOR_ONE:
            return tuple(name for name in row.types if name in ROOMY)
        return row.types

    def dtype(self, row: Operator) -> str:
        """One of the operator's types: first the kind (floats, signed, unsigned, bool), then the type, so that the
        floats are not lost among eight types of integers.
        """
        if self.only:
            return self.only
        types = self.types(row)
        kind = self.among(list(dict.fromkeys(np.dtype(name).kind for name in types)))
        return str(self.among([name for name in types if np.dtype(name).kind == kind]))

    def earlier(self, row: Operator, ranks: tuple[int, int]) -> Port | None:
        """An earlier result that the operator accepts, or None."""
        if not self._joined or row.steps:
            return None
        low, high = ranks
        fits = [
            port
            for port in reversed(self._results)
            if port.dtype in self.types(row) and low <= len(port.shape) <= high
            and (not row.least or 0 not in port.shape) and math.prod(port.shape) <= ELEMENTS
        ]  # fmt: skip
        return self.among(fits) if fits else None

    def axis(self, rank: int) -> int:
        """An axis of a tensor of this rank, counted from either end."""
        chosen = self.number(0, rank - 1)
        return chosen - rank if self.flag() else chosen

    def axes(self, rank: int, least: int = 0) -> list[int]:
        """At least ``least`` distinct axes of a tensor of this rank."""
        if not rank:
            return []
        drawn = self.draw(st.lists(st.integers(0, rank - 1), min_size=least, max_size=rank, unique=True))
        return [axis - rank if self.flag() else axis for axis in drawn]

    def node(self, row: Operator, inputs: Sequence[Port | None], *results: tuple[str, Shape], **more: Any) -> None:
        """Add a node of the operator, with attributes of its row and ``more``; ``results`` are types and shapes."""
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


Family = Callable[[Sketch, Operator], None]  # generates the operands of an operator and adds its node
