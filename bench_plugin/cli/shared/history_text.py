"""What ``bench history`` prints for a person: tables of runs, of a cell's history, of failures and of trends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench_plugin.cli.shared.output import print_table
from bench_plugin.cli.shared.sparkline import sparkline
from bench_plugin.report.figures import duration
from bench_plugin.results.identity import short_text
from bench_plugin.results.index.queries import Point
from bench_plugin.results.index.trends import Trend

Plain = Mapping[str, Any]


def print_runs(found: Sequence[Plain]) -> None:
    """A line for each run, oldest first."""
    rows = [
        {**one, "cells": _of(one["computed"], one["planned"]), "commit": one["commit"] or "",
         "profile": one["profile"] or ""} for one in found
    ]  # fmt: skip
    print_table(rows, ("run", "started", "profile", "cells", "passed", "failed", "known", "commit", "machine"))


def print_cell(cell: str, points: Sequence[Point], trend: Trend, *, everything: bool) -> None:
    """A cell over runs: where it changed, or every run, and how E and the time went."""
    print(cell)
    shown = [one for one in points if everything or one.changed or one.versions or one is points[-1]]
    print_table([_point(one) for one in shown], ("run", "status", "E", "time", "commit", "changed_versions", "reason"))
    hidden = len(points) - len(shown)
    print(f"{len(points)} runs" + (f", {hidden} without a change not shown (--all shows them)" if hidden else ""))
    if line := sparkline(trend.E, logarithmic=True):
        print(f"E     {line}  {_span(trend.E, lambda value: f'{value:.2g}')}")
    if line := sparkline(trend.comparable):
        print(f"time  {line}  {_time_text(trend)}")
    if len({place for place, time in zip(trend.place, trend.p50, strict=True) if time is not None}) > 1:
        print("time  of the newest machine alone: times of others do not compare")


def print_cells(cells: Sequence[Trend]) -> None:
    """A line for each of several cells."""
    rows = [
        {"cell": short_text(one.cell), "runs": len(one.run), "newest": one.run[-1], "status": one.status[-1],
         "E": "" if one.E[-1] is None else f"{one.E[-1]:.2g}", "trend_of_E": sparkline(one.E, logarithmic=True)}
        for one in cells
    ]  # fmt: skip
    print_table(rows, ("cell", "runs", "newest", "status", "E", "trend_of_E"))
    print(f"{len(cells)} cells; more words, or a canonical text (--json has them), name one")


def print_failures(found: Sequence[Plain], since: str) -> None:
    """The new failures, those that still fail first."""
    rows = [
        {**one, "cell": short_text(one["cell"]), "before": one["before"] or "no row",
         "now": "fails" if one["still"] else one["now"]} for one in found
    ]  # fmt: skip
    if rows:
        print_table(rows, ("cell", "run", "before", "status", "stage", "now", "key", "reason"))
    still = sum(one["still"] for one in found)
    print(f"{len(found)} new failures since {since}, of which {still} still fail")


def print_flaky(found: Sequence[Plain], last: int) -> None:
    """Cells that are not steady, the worst first."""
    rows = [{**one, "cell": short_text(one["cell"]), "statuses": ", ".join(one["statuses"])} for one in found]
    if rows:
        print_table(rows, ("cell", "runs", "changes", "unexplained", "now", "statuses"))
    print(f"{len(found)} cells had several outcomes of one key in the last {last} runs")


def print_trends(found: Sequence[Trend]) -> None:
    """The time of cells over runs."""
    rows = [
        {"cell": short_text(one.cell), "runs": len(one.comparable), "time": _newest(one),
         "to_median": "" if one.ratio is None else f"{one.ratio - 1:+.1%}", "trend": sparkline(one.comparable)}
        for one in found
    ]  # fmt: skip
    if rows:
        print_table(rows, ("cell", "runs", "time", "to_median", "trend"))
    print(f"{len(found)} timed cells, each over the runs on the machine of its newest time")


def _point(one: Point) -> Plain:
    return {
        "run": one.run, "commit": one.commit, "reason": one.reason,
        "status": one.status + (f" ({one.result})" if one.result == "xfailed" else ""),
        "E": "" if one.E is None else f"{one.E:.2g}", "time": _time(one.p50, one.instructions),
        "changed_versions": ", ".join(f"{name} {old or 'absent'} → {new or 'absent'}"
                                      for name, (old, new) in one.versions.items()),
    }  # fmt: skip


def _time(seconds: float | None, instructions: float | None) -> str:
    return duration(seconds) if seconds is not None else "" if instructions is None else f"{instructions:,.0f} instr."


def _newest(trend: Trend) -> str:
    measured = [pair for pair in zip(trend.p50, trend.instructions, strict=True) if pair != (None, None)]
    return _time(*measured[-1]) if measured else ""


def _time_text(trend: Trend) -> str:
    said = "" if trend.ratio is None else f", {trend.ratio - 1:+.1%} to the median of {len(trend.comparable)} runs"
    return f"{_newest(trend)}{said}"


def _span(values: Sequence[float | None], text: Any) -> str:
    known = [value for value in values if value is not None]
    return f"{text(min(known))} to {text(max(known))}, now {text(known[-1])}"


def _of(done: int | None, planned: int | None) -> str:
    return f"{done or 0} of {planned}" if planned is not None and planned != done else str(done or 0)
