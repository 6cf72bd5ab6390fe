"""What a page is made of, before any format: headings, paragraphs, tables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Heading:
    """A section's title."""

    text: str


@dataclass(frozen=True)
class Paragraph:
    """One paragraph of plain text."""

    text: str


@dataclass(frozen=True)
class TableCell:
    """Text with the status that colours it, where there is colour."""

    text: str
    status: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells below a row of heads; the first ``keys`` columns say what a row is about."""

    heads: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    keys: int = 1


Block = Heading | Paragraph | Table


@dataclass(frozen=True)
class Document:
    """A titled page."""

    title: str
    blocks: tuple[Block, ...]
