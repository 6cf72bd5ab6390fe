"""The page of checks that have no page of their own: a line per cell, so that no computed cell is without a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench_plugin.report.blocks import Block, Document, Heading, Paragraph, Table, TableCell
from bench_plugin.report.entries import Entry, entry, header_of, latest, partial
from bench_plugin.report.formats.tabular import flat
from bench_plugin.report.pages.page import Page
from bench_plugin.report.parts import failures_table, legend_table, made_with, mark, remarks, run_line

NAME = "other-checks"
OPENING = "Cells of checks that have no grid of their own."


def make(rows: Sequence[Mapping[str, Any]], notes: Sequence[str], checks: Sequence[str]) -> Page:
    """The page of the rows of ``checks``."""
    entries = tuple(entry(row) for row in latest(rows, checks))
    header, missing = header_of(rows), partial(rows)
    table = _table(entries)
    blocks: list[Block] = [*run_line(header), Paragraph(OPENING), *remarks(missing, *notes), table]
    blocks += [Heading("Legend"), legend_table(entries), *failures_table(entries, describe), *made_with(header)]
    data = {"cells": [flat(one) | {"numbers": one.numbers} for one in entries], "partial": missing, "header": header}
    document = Document("Other checks", tuple(blocks))
    return Page(NAME, document, (("Other checks", table),), entries, data, (missing, *notes))


def describe(one: Entry) -> str:
    """A cell in words: its axes, as far as they say something."""
    return " ".join(str(value) for axis, value in one.cell.items() if value and (axis, value) != ("target", "local"))


def _table(entries: Sequence[Entry]) -> Table:
    rows = [(TableCell(describe(one)), TableCell(f"{one.status} {mark(one)}".strip(), one.shown)) for one in entries]
    return Table(("cell", "status"), tuple(rows))
