"""The page of single operators: scores, every operator in every compiler, and a page of causes per backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench_plugin.report.blocks import Block, Contents, Document, Heading, Pages, Paragraph, Table, TableCell
from bench_plugin.report.earlier import EarlierRuns
from bench_plugin.report.grids.operators import CHECK, OperatorGrid, Tally, build_grid, data, opsets_of
from bench_plugin.report.pages.operators_details import details_page
from bench_plugin.report.pages.page import Page, detail_name
from bench_plugin.report.pages.scores import main_table, over_time
from bench_plugin.report.parts import legend_table, made_with, remarks, run_line
from bench_plugin.report.statuses import FAILED
from bench_plugin.results.known_failures.expectations import NOT_ANALYSED

OPENING = (
    "ONNX's own backend tests, compiled and run in processes of their own. A case is supported when every output "
    "is within the rule of its operator, against a result recomputed in float64 (docs/numbers.md); the tolerance of "
    "ONNX's stock runner is shown beside it. A graph of several operators is counted in a group of its own."
)
SCORES = (
    "The score is supported of supported, mismatch, ERROR and unsupported. Outside are cases that the backend fails "
    "and whose opset or IR it does not take, or whose rule ONNX changed in place; those that only our bound refuses, "
    "not ONNX's own runner; values of a type that our harness does not support there; and those for which this machine "
    "lacks something (Not provided: a locale). The score with skew counts cases that are too new by what their form "
    "converted to an older opset gave, and those that cannot be converted as lost."
)
TIME = "The score in earlier runs that selected the same cells."
NAME = "onnx-operators"
CHECKS: tuple[str, ...] = (CHECK,)
OUTSIDE = (("outside our bound", "outside bound"), ("version skew", "skew"), ("unverified", "unverified"))


def make(rows: Sequence[Mapping[str, Any]], notes: Sequence[str], earlier: EarlierRuns) -> Page:
    """The page of the operator rows."""
    grid = build_grid(rows, notes, earlier)
    grids = (("ONNX operators", main_table(grid)),)
    back = ("ONNX operators: the summary", NAME)
    details = {name: details_page(grid, name, back) for name in grid.compilers}
    remarks = (grid.partial, *grid.notes)
    return Page(NAME, operators_page(grid), grids, grid.entries, data(grid), remarks, details)


def operators_page(grid: OperatorGrid) -> Document:
    """The summary."""
    blocks: list[Block] = [*run_line(grid.header), Paragraph(OPENING), *remarks(grid.partial, *grid.notes), Contents()]
    blocks += [Heading("Scores"), main_table(grid), Paragraph(SCORES)]
    if (past := over_time(grid)).rows:
        blocks += [Heading("Scores over time"), Paragraph(TIME), past]
    blocks += [Heading("Legend"), legend_table(grid.entries)]
    links = tuple((grid.headings[name], detail_name(NAME, name)) for name in grid.compilers)
    blocks += [Heading("Why not, by backend"), _analysed(grid), Pages(links)]
    blocks += [Heading("Operators"), _operators(grid, grid.operators)]
    if grid.groups:
        blocks += [Heading("Several operators at once"), _operators(grid, grid.groups)]
    return Document("ONNX operators", (*blocks, *made_with(grid.header)))


def _analysed(grid: OperatorGrid) -> Table:
    """A line per compiler: how many failures have a cause in our words, a link, or were not analysed yet."""
    rows = []
    for name in grid.compilers:
        failed = [one for one in grid.entries if one.status in FAILED and str(one.cell["compiler"]) == name]
        unknown = sum(one.expected in ("", NOT_ANALYSED) for one in failed)
        linked = sum(bool(one.link) for one in failed)
        counts = (len(failed), len(failed) - unknown, linked, unknown)
        rows.append((TableCell(grid.headings[name]), *(TableCell(str(count or "")) for count in counts)))
    return Table(("compiler", "failures", "with a cause", "with a finding or thread", "not analysed"), tuple(rows))


def _operators(grid: OperatorGrid, places: tuple[str, ...]) -> Table:
    rows = []
    for place in places:
        tallies = [grid.tallies.get((place, name)) for name in grid.compilers]
        known = [tally for tally in tallies if tally]
        cases = max(tally.cases for tally in known)
        rows.append((TableCell(place), TableCell(opsets_of(known)), TableCell(str(cases)), *map(_place, tallies)))
    return Table(("operator", "opset", "cases", *(grid.headings[name] for name in grid.compilers)), tuple(rows))


def _place(tally: Tally | None) -> TableCell:
    """Supported of those that were asked, and the worst status where it is another."""
    if tally is None:
        return TableCell("not run", "not run")
    text = f"{tally.statuses['supported']}/{tally.scored}" if tally.scored else "-"
    outside = ", ".join(
        f"{tally.statuses[status]} {word}" for status, word in OUTSIDE if tally.statuses[status]
    )  # fmt: skip
    worst = tally.worst if tally.worst != "supported" else ""
    parts = [text, worst if worst not in dict(OUTSIDE) else "", outside]
    hint = "; ".join(f"{count} {reason}" for reason, count in tally.reasons.most_common(3))
    return TableCell(" ".join(part for part in parts if part), tally.worst, hint)
