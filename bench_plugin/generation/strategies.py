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


def graphs(names: Sequence[str] = tuple(OPERATORS)) -> st.SearchStrategy[Graph]:
    """Graphs of two to eight of the operators, each of which uses earlier results where it can."""
    rows = [OPERATORS[name] for name in names]
    return st.lists(st.sampled_from(rows), min_size=NODES[0], max_size=NODES[1]).flatmap(
        lambda chosen: st.composite(lambda draw: _drawn(draw, chosen))()
    )


def _drawn(draw: Draw, rows: Sequence[Operator]) -> Graph:
    sketch = Sketch(draw, joined=len(rows) > 1)
    for row in rows:
        FAMILIES[row.family](sketch, row)
    return sketch.graph()
