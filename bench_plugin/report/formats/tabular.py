"""Cells as plain data: CSV (one line per cell) and what JSON holds."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from bench_plugin.domain.axes import READING_ORDER
from bench_plugin.report.entries import Entry

AXES = tuple(axis.name for axis in READING_ORDER)
FIELDS = (
    *AXES, "status", "result", "stage", "symptom", "converted", "error", "tolerance", "reason", "expected", "key",
)  # fmt: skip


def render_csv(entries: Sequence[Entry]) -> str:
    """One line per cell, declared ones included."""
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat(entry) for entry in entries)
    return text.getvalue()


def flat(entry: Entry) -> dict[str, Any]:
    """An entry without nesting: its axes and its verdict."""
    own = {name: getattr(entry, name) for name in FIELDS if name not in AXES}
    return {axis: entry.cell.get(axis, "") for axis in AXES} | own
