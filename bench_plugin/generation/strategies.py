"""Strategies of valid graphs by the catalogue: of one operator, or of two to eight in sequence. Needs hypothesis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from bench_plugin.generation.catalogue import OPERATORS, Operator
from bench_plugin.generation.families import (
    elementwise,
    indexing,
    normalisation,
    products,
    rearranging,
    reductions,
    reshaping,
    windows,
)
from bench_plugin.generation.graphs import Graph
from bench_plugin.generation.sketch import Draw, Family, Sketch

NODES = (2, 8)
# Types of integers, for a search that may run out of time: first those that most tools compute as something else.
BY_DEFECTS = ("uint8", "int64", "uint64", "int8", "uint32", "int32", "uint16", "int16")
FAMILIES: Mapping[str, Family] = {
    **elementwise.FAMILIES,
    **indexing.FAMILIES,
    **normalisation.FAMILIES,
    **products.FAMILIES,
    **rearranging.FAMILIES,
    **reductions.FAMILIES,
    **reshaping.FAMILIES,
    **windows.FAMILIES,
}


def single(name: str) -> st.SearchStrategy[Graph]:
    """Graphs of one operator of the catalogue."""
    return st.composite(lambda draw: _drawn(draw, [OPERATORS[name]]))()


def of_each_integer_type(name: str) -> list[st.SearchStrategy[Graph]]:
    """For each type of integers that the operator takes, its graphs with numbers from the whole range. The simplest one
    of each has several operands or a window of several elements, where the operator may have them.
    """
    row = OPERATORS[name]
    types = [] if row.integers == "small" else [one for one in BY_DEFECTS if one in row.types]

    def typed(only: str) -> st.SearchStrategy[Graph]:
        return st.composite(lambda draw: _drawn(draw, [row], only))()

    return [typed(one) for one in types]


def graphs(names: Sequence[str] = tuple(OPERATORS)) -> st.SearchStrategy[Graph]:
    """Graphs of two to eight of the operators, each of which uses earlier results where it can."""
    rows = [OPERATORS[name] for name in names]
    return st.lists(st.sampled_from(rows), min_size=NODES[0], max_size=NODES[1]).flatmap(
        lambda chosen: st.composite(lambda draw: _drawn(draw, chosen))()
    )


def _drawn(draw: Draw, rows: Sequence[Operator], only: str = "") -> Graph:
    sketch = Sketch(draw, joined=len(rows) > 1, only=only)
    for row in rows:
        FAMILIES[row.family](sketch, row)
    return sketch.graph()
