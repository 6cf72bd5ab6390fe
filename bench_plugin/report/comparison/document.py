"""A comparison as tables: for a terminal, and as a page in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench_plugin.domain.texts.shares import share
from bench_plugin.domain.thresholds import FASTER, SAME, SLOWER
from bench_plugin.report.blocks import Block, Document, Heading, Paragraph, Table, TableCell
from bench_plugin.report.comparison.changes import Comparison, Listed, StatusChange
from bench_plugin.report.comparison.counts import CountChange
from bench_plugin.report.comparison.direction import OTHER, PROGRESS, REGRESSION, UNDECLARED
from bench_plugin.report.comparison.errors import NumberChange
from bench_plugin.report.comparison.times import TimeChange
from bench_plugin.report.figures import duration
from bench_plugin.report.parts import number

# The status that lends its colour to a direction or a verdict; every one is written out as well.
COLOURS = {REGRESSION: "ERROR", PROGRESS: "supported", SLOWER: "ERROR", FASTER: "supported"}
USUAL = {("target", "local"), ("precision", "fp32")}


def document(comparison: Comparison) -> Document:
    """The whole comparison as a page."""
    base, head = (one.get("run") or "a run without an id" for one in (comparison.base, comparison.head))
    return Document(f"From {base} to {head}", tuple(_blocks(comparison)))


def tables(comparison: Comparison) -> list[tuple[str, Table]]:
    """(title, table) of everything that changed, in the order in which it matters; none is empty."""
    found = [
        ("Status", _statuses(comparison.statuses)), ("Numbers", _numbers(comparison.numbers)),
        ("Time", _times(comparison.times)), ("Instructions and bytes", _counts(comparison.counts)),
        ("New cells", _listed(comparison.added)), ("Cells without a row now", _listed(comparison.removed)),
        ("Versions", _versions(comparison.versions)),
    ]  # fmt: skip
    return [(title, table) for title, table in found if table.rows]


def counted(comparison: Comparison) -> str:
    """One sentence: how many cells are the same, and how many changed in which way."""
    parts = {
        "regressions": comparison.regressions, "progress": comparison.progress,
        "other changes of status": sum(one.direction == OTHER for one in comparison.statuses),
        UNDECLARED: sum(one.direction == UNDECLARED for one in comparison.statuses),
        "added": len(comparison.added), "removed": len(comparison.removed),
    }  # fmt: skip
    verdicts: dict[str, int] = {}
    for one in comparison.times:
        verdicts[one.verdict] = verdicts.get(one.verdict, 0) + 1
    said = [f"{count} {one_of(name, count)}" for name, count in parts.items() if count]
    timed = f"; times: {', '.join(f'{count} {name}' for name, count in verdicts.items())}" if verdicts else ""
    same = f"{comparison.same} cell is the same" if comparison.same == 1 else f"{comparison.same} cells are the same"
    return f"{same}; {', '.join(said) or 'nothing changed'}{timed}"


def one_of(name: str, count: int) -> str:
    """A plural, or for one of them the singular.

    >>> one_of("regressions", 1)
    'regression'
    """
    return name.replace("regressions", "regression").replace("changes", "change") if count == 1 else name


def cell_text(cell: Mapping[str, Any]) -> str:
    """The axes of a cell in one line; usual values are left out."""
    return " ".join(str(value) for axis, value in cell.items() if (axis, value) not in USUAL)


def versions_text(versions: Mapping[str, tuple[str, str]]) -> str:
    """Versions that changed: ``onnxruntime 1.30 → 1.31``."""
    return ", ".join(f"{name} {old or 'none'} → {new or 'none'}" for name, (old, new) in versions.items())


def change_text(one: TimeChange) -> str:
    """By how much a time changed, with its 95 % interval."""
    if one.d is None or one.half_width is None:
        return ""
    return share(one.d, one.half_width)


def _blocks(comparison: Comparison) -> Iterator[Block]:
    yield Paragraph(counted(comparison) + ".")
    if comparison.undecided:
        yield Paragraph(f"Cannot say: {comparison.undecided}.")
    for title, table in tables(comparison):
        yield Heading(title)
        yield table


def _statuses(found: Sequence[StatusChange]) -> Table:
    rows = tuple(
        (
            TableCell(cell_text(one.cell)), TableCell(one.direction, COLOURS.get(one.direction, "")),
            TableCell(one.before), TableCell(one.after), TableCell(one.key), TableCell(versions_text(one.versions)),
            TableCell(one.reason),
        )
        for one in found
    )  # fmt: skip
    return Table(("cell", "change", "before", "after", "key", "versions", "why"), rows)


def _numbers(found: Sequence[NumberChange]) -> Table:
    rows = tuple(
        (
            TableCell(cell_text(one.cell)), TableCell(one.measure),
            TableCell(one.direction, COLOURS.get(one.direction, "")), TableCell(number(one.before)),
            TableCell(number(one.after)), TableCell("" if one.ratio is None else f"{one.ratio:.2g}"),
            TableCell("" if one.decibels is None else f"{one.decibels:+.1f}"), TableCell(versions_text(one.versions)),
        )
        for one in found
    )  # fmt: skip
    return Table(("cell", "number", "change", "before", "after", "ratio", "dB", "versions"), rows, keys=2)


def _times(found: Sequence[TimeChange]) -> Table:
    """All times but those that are the same, which the sentence below the tables counts."""
    rows = tuple(
        (
            TableCell(cell_text(one.cell)), TableCell(one.verdict, COLOURS.get(one.verdict, "")),
            TableCell(duration(one.before)), TableCell(duration(one.after)), TableCell(change_text(one)),
            TableCell(f"{one.effect:.1%}"), TableCell(one.how), TableCell(versions_text(one.versions)),
            TableCell(one.reason),
        )
        for one in found if one.verdict != SAME
    )  # fmt: skip
    return Table(("cell", "time", "before", "after", "change", "counts from", "how", "versions", "why"), rows)


def _counts(found: Sequence[CountChange]) -> Table:
    rows = tuple(
        (
            TableCell(cell_text(one.cell)), TableCell(one.measure),
            TableCell(one.direction, COLOURS.get(one.direction, "")), TableCell(f"{one.before:,}"),
            TableCell(f"{one.after:,}"), TableCell(f"{one.after - one.before:+,}"),
            TableCell(versions_text(one.versions)), TableCell(one.reason),
        )
        for one in found
    )  # fmt: skip
    return Table(("cell", "count", "change", "before", "after", "difference", "versions", "why"), rows, keys=2)


def _listed(found: Sequence[Listed]) -> Table:
    rows = tuple(
        (TableCell(cell_text(one.cell)), TableCell(one.status), TableCell(one.key), TableCell(one.reason))
        for one in found
    )
    return Table(("cell", "status", "key", "why"), rows)


def _versions(found: Mapping[str, tuple[str, str]]) -> Table:
    rows = tuple((TableCell(name), TableCell(old), TableCell(new)) for name, (old, new) in found.items())
    return Table(("version", "before", "after"), rows)
