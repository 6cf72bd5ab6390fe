"""The reproduction command: pytest's arguments that run one cell alone, a part of each row (``bench repro``)."""

from __future__ import annotations

from pathlib import Path

from bench_plugin.domain.axes import BY_NAME, CASES, SELECTABLE, Axis
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.settings import Settings

ONE_CASE = (Check.PROPERTY, Check.OPERATOR)  # the checks whose cells have a case and a compiler, no model
OF_A_FILE = ("model", "framework")  # the axes that follow from the option that names an ONNX file


def repro_arguments(cell: Cell, nodeid: str, settings: Settings) -> list[str]:
    """pytest's arguments that run this cell alone, independent of the profile."""
    if cell.check in ONE_CASE:
        return [nodeid, f"{CASES.option}={cell.model}", f"--bench-compilers={cell.compiler}"]
    files = _files(cell, settings)
    said = ("check", *OF_A_FILE) if files else ("check",)  # the node id implies the check
    chosen = [_option(axis, cell) for axis in SELECTABLE if axis.name not in said]
    return [nodeid, *files, *(text for text in chosen if text), *_further(cell, settings)]


def _files(cell: Cell, settings: Settings) -> list[str]:
    """The options that name the user's ONNX file of the cell, and its inputs if they are the user's own."""
    selection = settings.selection
    inputs = dict(zip(selection.onnx_files, selection.onnx_inputs, strict=False))
    mine = [path for path in (*selection.onnx_files, *settings.onnx) if Path(path).stem == cell.model][:1]
    given = [f"--bench-inputs={inputs[path]}" for path in mine if path in inputs]
    return [*(f"--bench-onnx={path}" for path in mine), *given]


def _option(axis: Axis, cell: Cell) -> str:
    """The option that selects the cell's value; empty where the cell has none, or the default one."""
    value = getattr(cell, axis.name)
    return f"{axis.option}={value}" if value and str(value) != axis.usual else ""


def _further(cell: Cell, settings: Settings) -> list[str]:
    """Options that are not axes, where they differ from the default."""
    found = [f"--bench-seed={settings.seed}"] if settings.seed else []
    if settings.scenarios and cell.check is Check.TIMING:
        found.append(f"--bench-scenarios={','.join(settings.scenarios)}")
    found += ["--bench-all-boards"] if settings.all_boards and cell.target != BY_NAME["target"].usual else []
    found += [f"--bench-toolchains={folder}" for folder in settings.given_toolchains]
    if cell.compiler:
        for compiler, chosen in settings.options.items():
            found += [f"--bench-option={compiler}.{name}={value}" for name, value in chosen.items()]
        found += [f"--bench-calibration={settings.calibration}"] if settings.calibration != "minmax" else []
    return found
