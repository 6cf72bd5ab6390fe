"""The grid as plain data: CSV (one line per cell) and JSON."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from bench_plugin.report.support import Entry, Grid

AXES = ("check", "model", "framework", "exporter", "opset", "importer_framework", "importer", "precision", "target")
FIELDS = (*AXES, "status", "stage", "symptom", "converted", "error", "tolerance", "reason", "expected", "key")


def render_csv(grid: Grid) -> str:
    """One line per cell, declared ones included."""
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_flat(entry) for entry in grid.entries)
    return text.getvalue()


def render_json(grid: Grid) -> str:
    """The grid with its cells, the funnel, and what the run was."""
    places = [
        {"model": model, "framework": framework, "pair": pair.title, "text": pair.text, "worst": pair.worst,
         "published": grid.published.cell(model, framework)}
        for (model, framework), pairs in grid.pairs.items() for pair in pairs
    ]  # fmt: skip
    page: dict[str, Any] = {
        "grid": places, "cells": [_flat(entry) | {"numbers": entry.numbers} for entry in grid.entries],
        "funnel": dict(grid.funnel), "partial": grid.partial, "header": grid.header,
    }  # fmt: skip
    return json.dumps(page, indent=1, allow_nan=False) + "\n"


def _flat(entry: Entry) -> dict[str, Any]:
    own = {name: getattr(entry, name) for name in FIELDS if name not in AXES}
    return {axis: entry.cell.get(axis, "") for axis in AXES} | own
