"""How cells went over earlier runs: from the index of `bench history`, where there is one beside a results file."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_plugin.domain.errors import BenchError
from bench_plugin.report.interactive.columns import short
from bench_plugin.report.interactive.items import Item
from bench_plugin.report.interactive.reading import Source
from bench_plugin.results.identity import cell_text
from bench_plugin.results.index.making import index_of
from bench_plugin.results.index.trends import trends

LAST = 20  # runs of a cell that the page shows
WAIT = 1.0  # seconds for an index that is being written


def trends_of(items: Sequence[Item], sources: Sequence[Source]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The last runs of every cell by its id, and remarks on indexes that cannot be used; oldest run first.

    Without an index, or without the extra ``history``, there are no trends, and no remark.
    """
    found: dict[str, dict[str, Any]] = {}
    remarks: list[str] = []
    for number, source in enumerate(sources):
        index = index_beside(source.path)
        if not index.is_file() or importlib.util.find_spec("duckdb") is None:
            continue
        names = {cell_text(one.entry.cell): one.id for one in items if one.source == number}
        try:
            lines = trends(index, list(names), WAIT)
        except BenchError as error:
            remarks.append(str(error))
            continue
        found |= {names[text]: _last(vars(trend)) for text, trend in lines.items() if len(trend.run) > 1}
    return found, remarks


def index_beside(results: Path) -> Path:
    """The index of the runs of a results file, which may itself be in the history."""
    return index_of(results.parent.parent / results.name if results.parent.name == "history" else results)


def _last(trend: Mapping[str, Any]) -> dict[str, Any]:
    """The last runs: id and begin, status, E and time in seconds."""
    return {
        "run": trend["run"][-LAST:], "started": [text[:10] for text in trend["started"][-LAST:]],
        "status": trend["status"][-LAST:], "E": list(map(short, trend["E"][-LAST:])),
        "time": list(map(short, trend["p50"][-LAST:])),
    }  # fmt: skip
