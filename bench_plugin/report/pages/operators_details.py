"""The page of one backend's operator cases: why cases are not supported, with their names and findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench_plugin.report.blocks import Block, Contents, Document, Heading, Pages, Paragraph, Table, TableCell
from bench_plugin.report.entries import Entry
from bench_plugin.report.grids.operators import CauseGroup, OperatorGrid, causes, taken
from bench_plugin.report.pages.scores import percent
from bench_plugin.report.parts import legend_table, made_with, remarks, run_line
from bench_plugin.report.statuses import FAILED
from bench_plugin.results.known_failures.expectations import NOT_ANALYSED

FINDINGS = "docs/findings/"  # where the scripts lie that are named here
KNOWN = (
    "What a person found by looking, in our words, with the cases that it holds for. Many cases first. A finding is a "
    f"script in {FINDINGS}, which needs only the tool."
)
UNKNOWN = (
    "Nobody has looked further than the message yet. Cases of one line have the same message, apart from values, "
    "addresses, paths and counters; where these differ, the case that the message is of stands behind it."
)
PREFIX = "test_"  # of every case's name
EXPANDED = "_expanded"  # ends the name of a case that has the body of a function in place of its node
BOTH = f"({EXPANDED})"  # behind a name that stands for two cases
FEW = 10  # names of cases that say nothing of the tool; the JSON page has all of them
OUTSIDE = "These cases say nothing of the tool and are outside its score."


def details_page(grid: OperatorGrid, name: str, back: tuple[str, str]) -> Document:
    """The whole page of backend ``name``; ``back`` is the link to the summary."""
    mine = [one for one in grid.entries if str(one.cell["compiler"]) == name]
    tally = grid.totals[name]
    said = f"{tally.statuses['supported']} of {tally.scored} cases that it could be asked are supported"
    blocks: list[Block] = [*run_line(grid.header), *remarks(grid.partial), Pages((back,))]
    blocks += [Paragraph(f"{said}: {percent(tally.score)}."), Contents(), *_causes(mine)]
    blocks += [Heading("Legend"), legend_table(mine)]
    return Document(f"ONNX operators: {grid.headings[name]}", (*blocks, *made_with(grid.header, mine)))


def _causes(entries: Sequence[Entry]) -> Iterator[Block]:
    groups = causes(entries)
    failed = [group for group in groups if group.status in FAILED]
    analysed = [group for group in failed if group.reason not in ("", NOT_ANALYSED)]
    unknown = [group for group in failed if group.reason in ("", NOT_ANALYSED)]
    outside = [group for group in groups if group.status not in FAILED]
    if analysed:
        yield Heading("Causes")
        yield Paragraph(KNOWN)
        yield _table(analysed, "cause", [group.reason for group in analysed])
    if unknown:
        yield Heading("Not analysed")
        yield Paragraph(f"{sum(len(group.cases) for group in unknown)} cases. {UNKNOWN}")
        yield _table(unknown, "message", [group.message for group in unknown])
    if outside:
        yield Heading("Outside the score")
        yield Paragraph(" ".join((OUTSIDE, *(f"{one}." for one in taken(entries)))))
        yield _table(outside, "reason", [group.message for group in outside], most=FEW)


def _table(groups: Sequence[CauseGroup], head: str, texts: Sequence[str], *, most: int | None = None) -> Table:
    """A line per group with the names of its cases; of more than ``most`` only the first are named."""
    rows = tuple(
        (
            TableCell(str(len(group.cases))), TableCell(group.status, group.status), TableCell(group.where),
            TableCell(text), TableCell(group.link.removeprefix(FINDINGS)), TableCell(_names(group.cases, most)),
        )
        for group, text in zip(groups, texts, strict=True)
    )  # fmt: skip
    heads = (
        "cases",
        "status",
        "stage: symptom",
        head,
        "finding or thread",
        f"names of the cases, without {PREFIX}; {BOTH}: both",
    )
    return Table(heads, rows, keys=2)


def _names(cases: Sequence[str], most: int | None) -> str:
    names = _joined([case.removeprefix(PREFIX) for case in cases])
    if most is None or len(names) <= most:
        return ", ".join(names)
    left = len(cases) - sum(2 if name.endswith(BOTH) else 1 for name in names[:most])
    return f"{', '.join(names[:most])} and {left} more"


def _joined(names: Sequence[str]) -> list[str]:
    """The names, of which a case and the same with its function expanded are one: ``gelu(_expanded)``."""
    both = {name for name in names if name + EXPANDED in names}
    expanded = {name + EXPANDED for name in both}
    return [name + BOTH if name in both else name for name in names if name not in expanded]
