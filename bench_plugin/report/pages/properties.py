"""The page of generated graphs: how many were tried of every operator in every compiler, and what failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bench_plugin.report.blocks import Block, Contents, Document, Heading, Paragraph, Table, TableCell
from bench_plugin.report.earlier import EarlierRuns
from bench_plugin.report.entries import Entry
from bench_plugin.report.formats.tabular import flat
from bench_plugin.report.grids.properties import CHECK, PropertyGrid, build_grid, tried
from bench_plugin.report.pages.page import Page
from bench_plugin.report.parts import failures_table, legend_table, made_with, mark, remarks, run_line
from bench_plugin.report.statuses import NOT_RUN, ORDER

NAME = "onnx-properties"
CHECKS: tuple[str, ...] = (CHECK,)
OPENING = (
    "Small graphs that are generated from the rules of the operators, a few for every operator and some with several "
    "operators, each compiled and compared with a float64 reference. A cell is one operator in one compiler; the "
    "number is how many graphs were tried. A cell that fails names its smallest graph."
)


SIGNATURES = (
    "A signature is what failures with one cause have in common: stage, symptom, operators of the smallest graph and "
    "message. A known one names the row of its expectation."
)


def make(rows: Sequence[Mapping[str, Any]], notes: Sequence[str], earlier: EarlierRuns) -> Page:
    """The page of the property rows."""
    grid = build_grid(rows, notes)
    tables = {"Generated graphs": summary_table(grid), "Generated graphs, not supported": unsupported_table(grid)}
    grids = tuple((heading, table) for heading, table in tables.items() if table.rows)
    cells = [flat(one) | {"numbers": one.numbers} for one in grid.entries]
    data = {"cells": cells, "partial": grid.partial, "header": grid.header}
    return Page(NAME, properties_page(grid), grids, grid.entries, data, (grid.partial, *grid.notes))


def properties_page(grid: PropertyGrid) -> Document:
    """The whole page."""
    blocks: list[Block] = [*run_line(grid.header), Paragraph(OPENING), *remarks(grid.partial, *grid.notes), Contents()]
    blocks += [Heading("Compilers"), summary_table(grid), Heading("Legend"), legend_table(grid.entries)]
    blocks += [Heading("Operators"), operators_table(grid)]
    if (found := signatures_table(grid)).rows:
        blocks += [Heading("Signatures"), Paragraph(SIGNATURES), found]
    blocks += failures_table(grid.entries, describe)
    return Document("Generated graphs", (*blocks, *made_with(grid.header)))


def summary_table(grid: PropertyGrid) -> Table:
    """A line per compiler: operators, how many of them ended how, and graphs tried."""
    counts = {name: Counter(one.shown for one in grid.of_compiler(name)) for name in grid.compilers}
    present = [status for status in reversed(ORDER) if any(count[status] for count in counts.values())]
    rows = []
    for name, count in counts.items():
        mine = grid.of_compiler(name)
        ended = (TableCell(str(count[status] or ""), status if count[status] else "") for status in present)
        total = TableCell(str(sum(map(tried, mine))))
        rows.append((TableCell(grid.headings[name]), TableCell(str(len(mine))), *ended, total))
    return Table(("compiler", "operators", *present, "graphs tried"), tuple(rows))


def operators_table(grid: PropertyGrid) -> Table:
    """Operators x compilers: status and graphs tried."""
    rows = [
        (TableCell(operator), *(_place(grid.cells.get((operator, name))) for name in grid.compilers))
        for operator in grid.operators
    ]
    return Table(("operator", *(grid.headings[name] for name in grid.compilers)), tuple(rows))


def signatures_table(grid: PropertyGrid) -> Table:
    """Every signature of a failure that a run met: compiler, cells, how it fails, message, and whether it is known."""
    places: dict[tuple[str, ...], set[str]] = {}
    for one in grid.entries:
        for signature in one.numbers.get("seen") or ():
            places.setdefault(_signature(one, signature, f"yes: {signature['row']}"), set()).add(str(one.cell["model"]))
        for signature in one.numbers.get("found") or ():
            again = "new" if signature.get("reproduced", True) else "new, and did not come again in a fresh process"
            places.setdefault(_signature(one, signature, again), set()).add(str(one.cell["model"]))
    rows = []
    for (compiler, how, operators, message, known), cells in sorted(places.items()):
        texts = (grid.headings[compiler], how, operators, message, known, ", ".join(sorted(cells)))
        rows.append(tuple(TableCell(text) for text in texts))
    return Table(("compiler", "stage: symptom", "operators", "message", "known", "met in"), tuple(rows))


def _signature(one: Entry, signature: Mapping[str, Any], known: str) -> tuple[str, ...]:
    operators = ", ".join(signature["operators"])
    how = f"{signature['stage']}: {signature['symptom']}"
    return str(one.cell["compiler"]), how, operators, str(signature["message"]), known


def unsupported_table(grid: PropertyGrid) -> Table:
    """The lines of :func:`operators_table` in which a cell is not supported: what a terminal has room for."""
    whole = operators_table(grid)
    return replace(whole, rows=tuple(row for row in whole.rows if {cell.status for cell in row[1:]} - {"supported"}))


def describe(one: Entry) -> str:
    """A cell in words."""
    return f"{one.cell['model']} in {one.cell['compiler']}"


def _place(one: Entry | None) -> TableCell:
    if one is None:
        return TableCell(NOT_RUN, NOT_RUN)
    count = f"({tried(one)})" if tried(one) else ""
    return TableCell(" ".join(part for part in (one.status, mark(one), count) if part), one.shown, one.reason)
