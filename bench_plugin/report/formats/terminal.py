"""A grid for a terminal: aligned columns, coloured where there is a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from bench_plugin.report.blocks import Table

COLOURS = {"supported": "green", "mismatch": "red", "ERROR": "red", "unsupported": "yellow", "unverified": "yellow"}


def lines(table: Table) -> Iterator[list[tuple[str, str]]]:
    """Lines of (text, colour name) parts; a colour of '' is the terminal's own."""
    widths = [max(len(text) for text in column) for column in zip(*_texts(table), strict=True)]
    yield [(head.ljust(width + 2), "") for head, width in zip(table.heads, widths, strict=True)]
    for row in table.rows:
        yield [
            (cell.text.ljust(width + 2), COLOURS.get(cell.status, "")) for cell, width in zip(row, widths, strict=True)
        ]


def _texts(table: Table) -> list[tuple[str, ...]]:
    return [table.heads, *(tuple(cell.text for cell in row) for row in table.rows)]
