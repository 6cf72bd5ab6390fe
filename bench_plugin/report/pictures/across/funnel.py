"""The funnel of stages: how many cells of each kind of check got through every stage, and where the others ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bench_plugin.domain.outcome import Stage
from bench_plugin.report.entries import Entry
from bench_plugin.report.pictures.lines import LINE
from bench_plugin.report.pictures.picture import Record, Specification, vega_lite
from bench_plugin.report.pictures.results import Results

NAME = "funnel"
TITLE = "Funnel of stages"
QUESTION = "How many cells got through each stage, and where did the others end?"
FIRST, BEGUN, LAST = "selected", "begun", "supported"
ORDER = (FIRST, BEGUN, *map(str, Stage), LAST)
DESCRIPTION = (
    "Bar charts of the number of cells that got through each stage, one for each kind of check, from all that were "
    "selected to those that are supported. The text behind a bar is the number, and how many were lost at that stage "
    "with which status."
)


def rows(results: Results) -> list[Record]:
    """A record per check and stage that a cell of it reached; ``count`` is how many cells got through."""
    checks: dict[str, list[Entry]] = {}
    for one in results.entries:
        checks.setdefault(str(one.cell.get("check", "")), []).append(one)
    return [record for check, mine in checks.items() for record in _steps(check, mine)]


def others(results: Results) -> list[Record]:
    """A record per cell: its check, the stage that it did not get through, and its status."""
    return [
        {"check": str(one.cell.get("check", "")), "stage": _ended(one), "status": one.status, "number": number}
        for number, one in enumerate(results.entries)
    ]


def specification() -> Specification:
    """The axis of every check is its own."""
    axis = {"field": "stage", "type": "nominal", "title": None, "sort": {"field": "order", "op": "min"}}
    tooltip = [{"field": name} for name in ("check", "stage", "count", "lost", "why")]
    layers = [
        {"mark": {"type": "bar", "aria": False, "color": "#4c78a8"}, "encoding": {"tooltip": tooltip}},
        {
            "mark": {"type": "text", "aria": False, "align": "left", "dx": 4, "fontSize": 11},
            "encoding": {"text": {"field": "label"}},
        },
    ]
    x = {"field": "count", "type": "quantitative", "title": "cells", "axis": {"tickMinStep": 1, "tickCount": 5}}
    return vega_lite(
        DESCRIPTION,
        facet={"field": "check", "type": "nominal", "title": None, "header": {"labelAnchor": "start"}},
        columns=2,
        spec={"width": 240, "height": {"step": LINE}, "encoding": {"x": x, "y": axis}, "layer": layers},
        resolve={"scale": {"x": "independent", "y": "independent"}},
    )


def _steps(check: str, entries: Sequence[Entry]) -> list[Record]:
    """From the first to the last stage that any cell of the check took or ended at."""
    ended = {where: Counter(one.status for one in entries if _ended(one) == where) for where in ORDER}
    taken = {name for one in entries for name in one.timings}
    left = len(entries)
    records: list[Record] = []
    for order, stage in enumerate(ORDER):
        lost = ended[stage]
        if stage not in (FIRST, LAST) and stage not in taken and not lost:
            continue
        left -= lost.total() if stage != LAST else 0
        why = ", ".join(f"{count} {status}" for status, count in lost.most_common()) if stage != LAST else ""
        records.append({
            "check": check, "stage": stage, "order": order, "count": left, "lost": lost.total() if why else 0,
            "why": why, "label": f"{left}, lost {why}" if why else str(left),
        })  # fmt: skip
    return records


def _ended(one: Entry) -> str:
    """The stage that a cell did not get through; a cell without a stage was not begun."""
    if one.status == LAST:
        return LAST
    return one.stage if one.stage in ORDER else BEGUN
