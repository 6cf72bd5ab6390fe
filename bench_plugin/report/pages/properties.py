"""The page of generated graphs: how many were tried of every operator in every compiler, and what failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bench_plugin.report.blocks import Block, Contents, Document, Heading, Pages, Paragraph, Table, TableCell
from bench_plugin.report.earlier import EarlierRuns
from bench_plugin.report.entries import Entry
from bench_plugin.report.formats.tabular import flat
from bench_plugin.report.grids.properties import CHECK, PropertyGrid, agreed, build_grid, few_agree, out_of_time, tried
from bench_plugin.report.pages.page import Page, detail_name
from bench_plugin.report.parts import failures_table, first_line, legend_table, made_with, mark, remarks, run_line
from bench_plugin.report.statuses import NOT_RUN, ORDER

NAME = "onnx-properties"
CHECKS: tuple[str, ...] = (CHECK,)
FEW_AGREE = "few agree"
OPENING = (
    "Small graphs that are generated from the rules of the operators, a few for every operator and some with several "
    "operators, each compiled and compared with a float64 reference. A cell is one operator in one compiler. Its "
    "numbers are how many graphs agreed, of how many were tried; a single number where all of them agreed. The others "
    "were refused by the tool, had nothing to compare with, or failed. A cell is supported where at least one graph "
    "agreed and no graph failed in a way that is new or has an expectation of this cell; where fewer than half agreed, "
    f"it says {FEW_AGREE}. A search that ran out of time tried fewer graphs than it meant to, and says less. A cell "
    "that fails names its smallest graph."
)


SIGNATURES = (
    "A signature is what failures with one cause have in common: stage, symptom, operators of the smallest graph and "
    "message. A known one names the row of its expectation."
)


FEW = (
    "Supported cells in which fewer than half of the graphs agreed: the tool takes a part of what the operator may be. "
    "A failure is known where an expectation of another cell of the compiler has it."
)


def make(rows: Sequence[Mapping[str, Any]], notes: Sequence[str], earlier: EarlierRuns) -> Page:
    """The page of the property rows."""
    grid = build_grid(rows, notes)
    tables = {"Generated graphs": summary_table(grid), "Generated graphs, not supported": unsupported_table(grid)}
    grids = tuple((heading, table) for heading, table in tables.items() if table.rows)
    cells = [flat(one) | {"numbers": one.numbers} for one in grid.entries]
    data = {"cells": cells, "partial": grid.partial, "header": grid.header}
    back = ("Generated graphs: the summary", NAME)
    details = {name: details_page(grid, name, back) for name in grid.compilers}
    return Page(NAME, properties_page(grid), grids, grid.entries, data, (grid.partial, *grid.notes), details)


def properties_page(grid: PropertyGrid) -> Document:
    """The summary."""
    blocks: list[Block] = [*run_line(grid.header), Paragraph(OPENING), *remarks(grid.partial, *grid.notes), Contents()]
    blocks += [Heading("Compilers"), summary_table(grid), Heading("Legend"), legend_table(grid.entries)]
    links = tuple((grid.headings[name], detail_name(NAME, name)) for name in grid.compilers)
    blocks += [Heading("What failed, by compiler"), Pages(links), Heading("Operators"), operators_table(grid)]
    return Document("Generated graphs", (*blocks, *made_with(grid.header)))


def details_page(grid: PropertyGrid, name: str, back: tuple[str, str]) -> Document:
    """The page of compiler ``name``: its signatures and cells that failed; ``back`` is the link to the summary."""
    mine = grid.of_compiler(name)
    blocks: list[Block] = [*run_line(grid.header), *remarks(grid.partial), Pages((back,)), Contents()]
    if (found := signatures_table(mine)).rows:
        blocks += [Heading("Signatures"), Paragraph(SIGNATURES), found]
    if (few := few_table(mine)).rows:
        blocks += [Heading("Supported in part"), Paragraph(FEW), few]
    blocks += [*failures_table(mine, describe), Heading("Legend"), legend_table(mine)]
    return Document(f"Generated graphs: {grid.headings[name]}", (*blocks, *made_with(grid.header, mine)))


def summary_table(grid: PropertyGrid) -> Table:
    """A line per compiler: operators, how many of them ended how, in how many supported ones fewer than half of the
    graphs agreed, graphs tried, those that agreed, and cells that ran out of time.
    """
    counts = {name: Counter(one.shown for one in grid.of_compiler(name)) for name in grid.compilers}
    present = [status for status in reversed(ORDER) if any(count[status] for count in counts.values())]
    rows = []
    for name, count in counts.items():
        mine = grid.of_compiler(name)
        ended = (TableCell(str(count[status] or ""), status if count[status] else "") for status in present)
        right = [graphs for one in mine if (graphs := agreed(one)) is not None]
        sums = sum(map(few_agree, mine)) or "", sum(map(tried, mine)), sum(right) if len(right) == len(mine) else ""
        counted = (TableCell(str(count)) for count in (*sums, sum(map(out_of_time, mine)) or ""))
        rows.append((TableCell(grid.headings[name]), TableCell(str(len(mine))), *ended, *counted))
    return Table(("compiler", "operators", *present, FEW_AGREE, "graphs tried", "agreed", "out of time"), tuple(rows))


def operators_table(grid: PropertyGrid) -> Table:
    """Operators x compilers: status, graphs that agreed, and graphs tried."""
    rows = [
        (TableCell(operator), *(_place(grid.cells.get((operator, name))) for name in grid.compilers))
        for operator in grid.operators
    ]
    return Table(("operator", *(grid.headings[name] for name in grid.compilers)), tuple(rows))


def signatures_table(entries: Iterable[Entry]) -> Table:
    """Every signature of a failure that a compiler met: how it fails, message, whether it is known, and where."""
    places: dict[tuple[str, ...], set[str]] = {}
    for one in entries:
        for signature in one.numbers.get("seen") or ():
            places.setdefault(_signature(signature, f"yes: {signature['row']}"), set()).add(str(one.cell["model"]))
        for signature in one.numbers.get("found") or ():
            again = "new" if signature.get("reproduced", True) else "new, and did not come again in a fresh process"
            places.setdefault(_signature(signature, again), set()).add(str(one.cell["model"]))
    rows = []
    for texts, cells in sorted(places.items()):
        rows.append(tuple(TableCell(text) for text in (*texts, ", ".join(sorted(cells)))))
    return Table(("stage: symptom", "operators", "message", "known", "met in"), tuple(rows))


def few_table(entries: Iterable[Entry]) -> Table:
    """A line for each supported cell in which fewer than half of the graphs agreed: what became of the others."""
    rows = []
    for one in filter(few_agree, entries):
        counts = (agreed(one), tried(one), *(one.numbers.get(name) for name in ("refused", "known", "silent")))
        reasons = one.numbers.get("first") or {}
        first = next((str(reasons[name]) for name in ("refused", "failed", "silent") if reasons.get(name)), "")
        texts = (one.cell["model"], *(count or "" for count in counts), first_line(replace(one, reason=first)))
        rows.append(tuple(TableCell(str(text)) for text in texts))
    heads = ("operator", "agreed", "graphs tried", "refused", "known failures", "not compared", "first reason")
    return Table(heads, tuple(rows))


def _signature(signature: Mapping[str, Any], known: str) -> tuple[str, ...]:
    operators = ", ".join(signature["operators"])
    how = f"{signature['stage']}: {signature['symptom']}"
    return how, operators, str(signature["message"]), known


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
    counted = (_graphs(one), FEW_AGREE if few_agree(one) else "", "out of time" if out_of_time(one) else "")
    count = ", ".join(part for part in counted if part)
    parts = (one.status, mark(one), count and f"({count})")
    return TableCell(" ".join(part for part in parts if part), one.shown, one.reason)


def _graphs(one: Entry) -> str:
    """How many graphs agreed, of how many; a single number where all did."""
    count, total = agreed(one), tried(one)
    if not total:
        return ""
    return f"{total} tried" if count is None else str(total) if count == total else f"{count} of {total}"
