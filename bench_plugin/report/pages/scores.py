"""The table of operator scores, and what they were in earlier runs of the same selection of cells."""

from __future__ import annotations

from bench_plugin.report.blocks import Table, TableCell
from bench_plugin.report.grids.operators import OperatorGrid, Tally
from bench_plugin.report.statuses import SCORED, STATUSES

COLUMNS = (*SCORED, "outside our bound", "version skew", "unverified")
RARE = tuple(str(style.name) for style in STATUSES if style.name not in COLUMNS)  # a column only where a case has it


def main_table(grid: OperatorGrid) -> Table:
    """A line per compiler: how many cases ended how, which adds up to the cases, and the scores."""
    rare = (status for status in RARE if any(tally.statuses[status] for tally in grid.totals.values()))
    columns = (*COLUMNS, *rare)
    rows = []
    for name in grid.compilers:
        tally = grid.totals[name]
        counts = [TableCell(str(tally.statuses[status] or ""), status if tally.statuses[status] else "")
                  for status in columns]  # fmt: skip
        further = (percent(tally.score), percent(tally.score_with_skew), str(tally.stock), _same(tally))
        cells = (TableCell(grid.headings[name]), TableCell(str(tally.cases)), *counts, *map(TableCell, further))
        rows.append(cells)
    heads = ("compiler", "cases", *columns, "score", "with skew", "stock tolerance", "same bits twice")
    return Table(heads, tuple(rows))


def over_time(grid: OperatorGrid) -> Table:
    """Runs x compilers: the score, the newest run first; without rows where no earlier run had the same selection."""
    runs = [(grid.header, {name: tally.score for name, tally in grid.totals.items()}), *grid.earlier]
    rows = []
    for header, scores in runs if grid.earlier else ():
        about = (str(header.get("started", "")).replace("T", " ").replace("Z", ""), str(header.get("commit") or ""))
        shown = (percent(scores.get(name)) for name in grid.compilers)
        rows.append(tuple(TableCell(text) for text in (*about, *shown)))
    return Table(("run of (UTC)", "commit", *(grid.headings[name] for name in grid.compilers)), tuple(rows), keys=2)


def _same(tally: Tally) -> str:
    """Cases that gave the same bits in a second run, of those that had one."""
    total = tally.steady.total()
    return f"{tally.steady[True]}/{total}" if total else ""


def percent(share: float | None) -> str:
    """A share of 1 in percent with one digit; empty for None."""
    return "" if share is None else f"{100 * share:.1f} %"
