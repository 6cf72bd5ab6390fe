"""Grids as plain data: CSV (one line per cell) and what JSON holds."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from bench_plugin.domain.axes import READING_ORDER
from bench_plugin.report.entries import Entry
from bench_plugin.report.grids.compiled import CompiledGrid
from bench_plugin.report.grids.support import Grid

AXES = tuple(axis.name for axis in READING_ORDER)
FIELDS = (*AXES, "status", "stage", "symptom", "converted", "error", "tolerance", "reason", "expected", "key")


def render_csv(entries: Sequence[Entry]) -> str:
    """One line per cell, declared ones included."""
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat(entry) for entry in entries)
    return text.getvalue()


def support_data(grid: Grid) -> dict[str, Any]:
    """The grid with its cells, the funnel, and what the run was."""
    places = [
        {"model": model, "framework": framework, "pair": pair.title, "text": pair.text, "worst": pair.worst,
         "published": grid.published.cell(model, framework)}
        for (model, framework), pairs in grid.pairs.items() for pair in pairs
    ]  # fmt: skip
    return {
        "grid": places, "cells": [flat(entry) | {"numbers": entry.numbers} for entry in grid.entries],
        "funnel": dict(grid.funnel), "partial": grid.partial, "header": grid.header,
    }  # fmt: skip


def compiled_data(grid: CompiledGrid) -> dict[str, Any]:
    """The cells with numbers, placement and artefacts, and what the run was."""
    cells = [
        flat(entry) | {"numbers": entry.numbers, "placement": entry.placement, "artefacts": entry.artefacts}
        for entry in grid.entries
    ]
    return {"cells": cells, "compilers": grid.compilers, "partial": grid.partial, "header": grid.header}


def flat(entry: Entry) -> dict[str, Any]:
    """An entry without nesting: its axes and its verdict."""
    own = {name: getattr(entry, name) for name in FIELDS if name not in AXES}
    return {axis: entry.cell.get(axis, "") for axis in AXES} | own
