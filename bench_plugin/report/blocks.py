"""What a page is made of, before any format: headings, paragraphs, tables; and the parts that every page has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_plugin.report.entries import Entry

FIRST_LINE = 140


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
    """Rows of cells below a row of heads."""

    heads: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]


Block = Heading | Paragraph | Table


@dataclass(frozen=True)
class Document:
    """A titled page."""

    title: str
    blocks: tuple[Block, ...]


def number(value: float | None) -> str:
    """An error with two digits, or nothing."""
    return "" if value is None else f"{value:.1e}"


def where(entry: Entry) -> str:
    """Stage and symptom."""
    return ": ".join(part for part in (entry.stage, entry.symptom) if part)


def first_line(entry: Entry) -> str:
    """The first line of the reason, bounded."""
    line = entry.reason.strip().splitlines()[0] if entry.reason.strip() else ""
    return line if len(line) <= FIRST_LINE else line[: FIRST_LINE - 1] + "…"


def provenance(header: Mapping[str, Any]) -> Iterator[Block]:
    """Command, commit, machine and locked versions of a run."""
    if not header:
        yield Paragraph("The results file has no header.")
        return
    machine = header.get("machine", {})
    facts = ", ".join(f"{name} {value}" for name, value in machine.items() if isinstance(value, str | int | float))
    yield Paragraph(
        f"Command: {_words(header.get('command', ''))}. Commit: {header.get('commit') or 'none'}. Machine: {facts}."
    )
    rows = []
    for toolchain, lock in sorted(header.get("versions", {}).items()):
        rows.append(
            (TableCell(toolchain), TableCell(", ".join(f"{name} {version}" for name, version in sorted(lock.items()))))
        )
    if rows:
        yield Table(("toolchain", "locked versions"), tuple(rows))


def _words(command: Sequence[str] | str) -> str:
    return command if isinstance(command, str) else " ".join(command)
