"""How long cells took in an earlier run, by which the shards of a later one are balanced."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench_plugin.domain.cell import Cell
from bench_plugin.results.rows import read_rows

Seconds = Mapping[str, float]  # by stage


def durations(path: Path) -> dict[Cell, Seconds]:
    """Seconds of every stage of the cells of a results file; the last row of a cell counts. Raises UsageError.

    A row of another version, with axes or timings that this one does not know, is left out.
    """
    found: dict[Cell, Seconds] = {}
    for row in read_rows(path).rows:
        if row["kind"] == "cell" and (cell := _cell(row)) is not None and (seconds := _seconds(row)):
            found[cell] = seconds
    return found


def _cell(row: Mapping[str, Any]) -> Cell | None:
    try:
        return Cell.from_axes(row["cell"])
    except (KeyError, TypeError, ValueError):
        return None


def _seconds(row: Mapping[str, Any]) -> Seconds:
    timings = row.get("timings")
    if not isinstance(timings, Mapping):
        return {}
    return {str(stage): float(value) for stage, value in timings.items() if isinstance(value, int | float)}
