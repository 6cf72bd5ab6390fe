"""The page of single operators: scores, reasons, and every operator in every compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench_plugin.report.blocks import Block, Document, Heading, Paragraph, Table, TableCell
from bench_plugin.report.grids.operators import CHECK, OperatorGrid, Tally, build_grid, data
from bench_plugin.report.pages.page import Page
from bench_plugin.report.parts import legend_table, made_with, remarks, run_line
from bench_plugin.report.statuses import SCORED

REASONS = 25  # per compiler; the JSON page has all of them

OPENING = (
    "ONNX's own backend tests, compiled and run in processes of their own. A case is supported when every output "
    "is within the rule of its operator, against a result recomputed in float64 (docs/numbers.md); the tolerance of "
    "ONNX's stock runner is shown beside it. A graph of several operators is counted in a group of its own."
)
SCORES = (
    "The score is supported of supported, mismatch, ERROR and unsupported. Outside are cases that the backend fails "
    "and whose opset or IR it does not take, or whose rule ONNX changed in place; those that only our bound refuses, "
    "not ONNX's own runner; and values of a type that our harness does not support there. The score with skew counts "
    "cases that are too new by what their form converted to an older opset gave, and those that cannot be converted "
    "as lost."
)
NAME = "onnx-operators"
CHECKS: tuple[str, ...] = (CHECK,)
BESIDE = {"outside our bound": "outside our bound", "version skew": "skew", "unverified": "unverified"}
COLUMNS = (*SCORED, *BESIDE)


def make(rows: Sequence[Mapping[str, Any]], notes: Sequence[str]) -> Page:
    """The page of the operator rows."""
    grid = build_grid(rows, notes)
    grids = (("ONNX operators", main_table(grid)),)
    return Page(NAME, operators_page(grid), grids, grid.entries, data(grid), (grid.partial, *grid.notes))


def operators_page(grid: OperatorGrid) -> Document:
    """The whole page."""
    blocks: list[Block] = [*run_line(grid.header), Paragraph(OPENING), *remarks(grid.partial, *grid.notes)]
    blocks += [main_table(grid), Paragraph(SCORES), Heading("Legend"), legend_table(grid.entries)]
    blocks += [Heading("Operators"), _operators(grid, grid.operators)]
    if grid.groups:
        blocks += [Heading("Several operators at once"), _operators(grid, grid.groups)]
    blocks += [*_reasons(grid), *made_with(grid.header)]
    return Document("ONNX operators", tuple(blocks))


def main_table(grid: OperatorGrid) -> Table:
    """A line per compiler: how many cases ended how, and the scores."""
    rows = []
    for name in grid.compilers:
        tally = grid.totals[name]
        counts = [TableCell(str(tally.statuses[status] or ""), status if tally.statuses[status] else "")
                  for status in COLUMNS]  # fmt: skip
        rows.append(
            (
                TableCell(grid.headings[name]), TableCell(str(tally.cases)), *counts,
                TableCell(_percent(tally.score)), TableCell(_percent(tally.score_with_skew)),
                TableCell(str(tally.stock)), TableCell(_same(tally)),
            )
        )  # fmt: skip
    heads = ("compiler", "cases", *COLUMNS, "score", "with skew", "stock tolerance", "same bits twice")
    return Table(heads, tuple(rows))


def _same(tally: Tally) -> str:
    """Cases that gave the same bits in a second run, of those that had one."""
    total = tally.steady.total()
    return f"{tally.steady[True]}/{total}" if total else ""


def _operators(grid: OperatorGrid, places: tuple[str, ...]) -> Table:
    rows = []
    for place in places:
        tallies = [grid.tallies.get((place, name)) for name in grid.compilers]
        known = next(tally for tally in tallies if tally)
        rows.append((TableCell(place), TableCell(known.opsets), TableCell(str(known.cases)), *map(_place, tallies)))
    return Table(("operator", "opset", "cases", *(grid.headings[name] for name in grid.compilers)), tuple(rows))


def _place(tally: Tally | None) -> TableCell:
    """Supported of those that were asked, and the worst status where it is another."""
    if tally is None:
        return TableCell("not run", "not run")
    text = f"{tally.statuses['supported']}/{tally.scored}" if tally.scored else "-"
    outside = ", ".join(f"{tally.statuses[status]} {word}" for status, word in BESIDE.items() if tally.statuses[status])
    worst = tally.worst if tally.worst != "supported" else ""
    parts = [text, worst if worst not in BESIDE else "", outside]
    hint = "; ".join(f"{count} {reason}" for reason, count in tally.reasons.most_common(3))
    return TableCell(" ".join(part for part in parts if part), tally.worst, hint)


def _reasons(grid: OperatorGrid) -> Iterator[Block]:
    for name in grid.compilers:
        found = grid.totals[name].reasons
        if not found:
            continue
        yield Heading(f"Why not, in {grid.headings[name]}")
        rows = []
        for reason, count in found.most_common(REASONS):
            status, _, text = reason.partition(": ")
            rows.append((TableCell(str(count)), TableCell(status, status), TableCell(text)))
        yield Table(("cases", "status", "reason"), tuple(rows))
        if len(found) > REASONS:
            yield Paragraph(f"And {len(found) - REASONS} more kinds of reasons.")


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"
