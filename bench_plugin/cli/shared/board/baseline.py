"""The deterministic figures of microcontroller cells, and how they differ from a committed baseline."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bench_plugin.domain.errors import UsageError

VERSION = 1
MEMORY = ("flash", "ram", "stack")
FIGURES = ("instructions", *MEMORY)
NAMED = ("model", "framework", "exporter", "opset", "compiler", "precision", "graph", "target")
Figures = dict[str, int]


class Change(NamedTuple):
    """A figure of a cell that is not what the baseline says; None where one side does not have it."""

    cell: str
    figure: str
    baseline: int | None
    now: int | None


def figures_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, Figures]:
    """The figures of the supported cells that counted instructions, by the name of the cell.

    Instructions are the median over the samples, which are the same in every run; memories are bytes.
    """
    found: dict[str, Figures] = {}
    for row in rows:
        if row.get("kind") != "cell" or row.get("status") != "supported":
            continue
        instructions = ((row["numbers"].get("timing") or {}).get("instructions") or {}).get("median")
        if instructions is None:
            continue
        memory = row["artefacts"].get("memory", {})
        figures = {"instructions": instructions, **{name: memory[name] for name in MEMORY if name in memory}}
        found[name_of(row["cell"])] = figures
    return found


def name_of(cell: Mapping[str, Any]) -> str:
    """The name of a cell in the baseline: its axes, without those that it does not have."""
    return " ".join(str(cell[axis]) for axis in NAMED if cell.get(axis))


def read_baseline(path: Path) -> dict[str, Figures]:
    """The cells of a baseline. Raises UsageError for a file that cannot be read or is none."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}; --update writes it") from error
    except ValueError as error:
        raise UsageError(f"{path}: not JSON: {error}") from error
    cells = said.get("cells") if isinstance(said, dict) and said.get("version") == VERSION else None
    if not isinstance(cells, dict) or not all(_is_figures(one) for one in cells.values()):
        raise UsageError(f"{path}: not a baseline of version {VERSION}; --update writes one")
    return cells


def write_baseline(path: Path, cells: Mapping[str, Figures]) -> None:
    """Write a baseline, sorted, so that a change of it can be read in a diff."""
    text = json.dumps({"version": VERSION, "cells": dict(sorted(cells.items()))}, indent=1, ensure_ascii=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")


def changes(baseline: Mapping[str, Figures], now: Mapping[str, Figures]) -> list[Change]:
    """Every figure of the cells of ``now`` that is not exactly that of the baseline."""
    found = []
    for cell, figures in sorted(now.items()):
        before = baseline.get(cell, {})
        for name in FIGURES:
            if before.get(name) != figures.get(name):
                found.append(Change(cell, name, before.get(name), figures.get(name)))
    return found


def _is_figures(value: Any) -> bool:
    return isinstance(value, dict) and all(
        name in FIGURES and isinstance(one, int) and not isinstance(one, bool) for name, one in value.items()
    )
