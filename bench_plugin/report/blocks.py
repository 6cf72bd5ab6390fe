"""What a page is made of, before any format: headings, paragraphs, tables, contents, links to other pages."""

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


@dataclass(frozen=True)
class Contents:
    """The table of contents: a link to every heading of the page."""


@dataclass(frozen=True)
class Pages:
    """Links to other pages in the same folder: (what the link says, the name of the page without suffix)."""

    links: tuple[tuple[str, str], ...]


Block = Heading | Paragraph | Table | Contents | Pages


@dataclass(frozen=True)
class Document:
    """A titled page."""

    title: str
    blocks: tuple[Block, ...]

    @property
    def headings(self) -> tuple[str, ...]:
        """The texts of the headings, in the order of the page."""
        return tuple(block.text for block in self.blocks if isinstance(block, Heading))


def anchor(heading: str) -> str:
    """The name of a heading's place in a page, as GitHub makes it: lower case, hyphens for spaces, no punctuation."""
    kept = "".join(letter for letter in heading.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")
