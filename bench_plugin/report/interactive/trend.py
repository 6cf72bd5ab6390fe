"""How cells went over earlier runs: from the index of `bench history`, where there is one beside a results file."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench_plugin.domain.errors import BenchError, EnvironmentMissing, UsageError
from bench_plugin.report.interactive.columns import short
from bench_plugin.report.interactive.items import Item
from bench_plugin.report.interactive.reading import Source
from bench_plugin.results.identity import cell_text
from bench_plugin.results.index.making import index_of
from bench_plugin.results.index.trends import Trend, trends
from bench_plugin.results.tables.flat import figures

LAST = 20  # runs of a cell that the page shows
WAIT = 1.0  # seconds for an index that is being written


def trends_of(
    items: Sequence[Item], sources: Sequence[Source], index: Path | None = None
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The last runs of every cell by its id, and remarks on indexes that cannot be used; oldest run first.

    ``index`` is that of all sources; without one it is that beside each of them. A run that is not in the index is the
    last one of its cells. Where there is no index, or beside the sources none that the extra ``history`` could read,
    there are no trends, and no remark.

    Raises UsageError for an ``index`` that does not exist, EnvironmentMissing where nothing could read it.
    """
    if index is not None and not index.is_file():
        raise UsageError(f"--index: {index} does not exist; `bench history index --index {index}` makes it")
    found: dict[str, dict[str, Any]] = {}
    remarks: list[str] = []
    for number, source in enumerate(sources):
        place = index or index_beside(source.path)
        if index is None and (not place.is_file() or importlib.util.find_spec("duckdb") is None):
            continue
        mine = {cell_text(one.entry.cell): one for one in items if one.source == number}
        try:
            lines = trends(place, list(mine), WAIT)
        except BenchError as error:
            if isinstance(error, EnvironmentMissing):  # an index that was asked for, and nothing to read it with
                raise
            remarks.append(str(error))
            continue
        runs = {str(row.get("run")): str(row.get("started") or "") for row in source.rows if row["kind"] == "header"}
        whole = {text: _with_this_run(lines[text], one, source, runs) for text, one in mine.items() if text in lines}
        found |= {mine[text].id: _last(trend) for text, trend in whole.items() if len(trend.run) > 1}
    return found, list(dict.fromkeys(remarks))


def index_beside(results: Path) -> Path:
    """The index of the runs of a results file, which may itself be in the history."""
    return index_of(results.parent.parent / results.name if results.parent.name == "history" else results)


def _with_this_run(trend: Trend, one: Item, source: Source, runs: Mapping[str, str]) -> Trend:
    """The trend with the run of the page at its end, where the index was made before it."""
    run = str(one.row.get("run") or source.name)
    if run in trend.run:
        return trend
    said = figures(one.row)
    return replace(
        trend, run=[*trend.run, run], started=[*trend.started, runs.get(run, "")],
        status=[*trend.status, one.entry.status], E=[*trend.E, one.entry.error], p50=[*trend.p50, said["p50"]],
        instructions=[*trend.instructions, said["instructions"]], place=[*trend.place, said["place"] or ""],
    )  # fmt: skip


def _last(trend: Trend) -> dict[str, Any]:
    """The last runs: id and begin, status, E, time in seconds, instructions.

    ``line`` are the times, or else the instructions, of the last runs that compare with the newest one.
    """
    return {
        "run": trend.run[-LAST:], "started": [text[:10] for text in trend.started[-LAST:]],
        "status": trend.status[-LAST:], "E": list(map(short, trend.E[-LAST:])),
        "time": list(map(short, trend.p50[-LAST:])), "instructions": trend.instructions[-LAST:],
        "line": list(map(short, trend.comparable[-LAST:])),
    }  # fmt: skip
