"""The grid for a terminal: aligned columns, coloured where there is a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from bench_plugin.report.document import Table, main_table
from bench_plugin.report.support import Grid

COLOURS = {"supported": "green", "mismatch": "red", "ERROR": "red", "unsupported": "yellow", "unverified": "yellow"}


def lines(grid: Grid) -> Iterator[list[tuple[str, str]]]:
    """Lines of (text, colour name) parts; a colour of '' is the terminal's own."""
    table = main_table(grid)
    widths = [max(len(text) for text in column) for column in zip(*_texts(table), strict=True)]
    yield [(head.ljust(width + 2), "") for head, width in zip(table.heads, widths, strict=True)]
    for row in table.rows:
        yield [
            (cell.text.ljust(width + 2), COLOURS.get(cell.status, "")) for cell, width in zip(row, widths, strict=True)
        ]


def _texts(table: Table) -> list[tuple[str, ...]]:
    return [table.heads, *(tuple(cell.text for cell in row) for row in table.rows)]
