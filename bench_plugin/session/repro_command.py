"""pytest's arguments that run one cell again, alone: a part of each row, and what ``bench repro`` runs."""

from __future__ import annotations

from pathlib import Path

from bench_plugin.domain.axes import CASES, SELECTABLE, Axis
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.settings import Settings

ONE_CASE = (Check.PROPERTY, Check.OPERATOR)  # checks whose cells are a case and a compiler
OF_A_FILE = ("model", "framework")  # what the option that names an ONNX file says already


def repro_arguments(cell: Cell, nodeid: str, settings: Settings) -> list[str]:
    """pytest's arguments that run this cell alone, whatever the profile was."""
    if cell.check in ONE_CASE:
        return [nodeid, f"{CASES.option}={cell.model}", f"--bench-compilers={cell.compiler}"]
    files = [f"--bench-onnx={path}" for path in settings.selection.onnx_files if Path(path).stem == cell.model]
    said = ("check", *OF_A_FILE) if files else ("check",)  # the node id says the check
    chosen = [_option(axis, cell) for axis in SELECTABLE if axis.name not in said]
    return [nodeid, *files, *(text for text in chosen if text), *_further(cell, settings)]


def _option(axis: Axis, cell: Cell) -> str:
    """The option that selects the cell's value; empty where the cell has none, or the usual one."""
    value = getattr(cell, axis.name)
    return f"{axis.option}={value}" if value and value != axis.usual else ""


def _further(cell: Cell, settings: Settings) -> list[str]:
    """Options that are no axes, where they are not the usual ones."""
    found = [f"--bench-seed={settings.seed}"] if settings.seed else []
    if cell.compiler:
        for compiler, chosen in settings.options.items():
            found += [f"--bench-option={compiler}.{name}={value}" for name, value in chosen.items()]
        found += [f"--bench-calibration={settings.calibration}"] if settings.calibration != "minmax" else []
    return found
