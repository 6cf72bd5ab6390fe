"""Cells as plain data: CSV (one line per cell) and what JSON holds."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from bench_plugin.domain.axes import READING_ORDER, SWEPT
from bench_plugin.report.entries import Entry

AXES = tuple(axis.name for axis in READING_ORDER if not axis.swept)
SWEEPS = tuple(axis.name for axis in SWEPT)
VERDICT = ("status", "result", "stage", "symptom", "converted", "error", "tolerance", "reason", "expected", "key")


def render_csv(entries: Sequence[Entry]) -> str:
    """One line per cell, declared ones included. An axis of sweeps is a column where a cell has another value of it
    than the usual one.
    """
    swept = [name for name in SWEEPS if any(name in entry.cell for entry in entries)]
    text = io.StringIO()
    writer = csv.DictWriter(text, (*AXES, *swept, *VERDICT), lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(flat(entry) for entry in entries)
    return text.getvalue()


def flat(entry: Entry) -> dict[str, Any]:
    """An entry without nesting: its axes and its verdict."""
    own = {name: getattr(entry, name) for name in VERDICT}
    swept = {name: entry.cell[name] for name in SWEEPS if name in entry.cell}
    return {axis: entry.cell.get(axis, "") for axis in AXES} | swept | own
