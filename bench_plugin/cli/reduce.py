"""``bench reduce CELL``: the fewest nodes that fail as the cell does, with a script that needs only the tool."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench_plugin.diagnosis.reduce import Reducer, write
from bench_plugin.diagnosis.trials import Trials
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Symptom
from bench_plugin.domain.settings import Settings, compiler_options, settings_here
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.results.history import find_row

HELP = "shrink a failing cell's model to the fewest nodes that fail alike, with a script for an upstream report"
CHECKS = (Check.EQUIVALENCE, Check.OPERATOR, Check.IMPORT)
INTEGERS = ("w8", "w8a8", "w8a8-dyn")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """CELL (or a file), the limits of the search, and where the result goes."""
    add_cell_arguments(parser)
    parser.add_argument("--output", type=Path, help="folder for the result (default: reduced/<cell> beside RESULTS)")
    parser.add_argument("--most", type=int, default=300, help="trials at most (default %(default)s)")
    parser.add_argument("--budget", type=float, default=1800, help="seconds for all of them (default %(default)s)")


def add_cell_arguments(parser: argparse.ArgumentParser) -> None:
    """What names a cell: a row of a results file, or an ONNX file with a tool."""
    parser.add_argument("cell", metavar="CELL", help="a row's 12-hex key or node id, or an ONNX file")
    parser.add_argument(
        "--results", type=Path, help="look it up here and in the earlier runs (default: the configured file)"
    )
    parser.add_argument("--compiler", default="", help="with an ONNX file: the compiler to try it in")
    parser.add_argument("--importer", default="", help="with an ONNX file: the importer to try it in")
    parser.add_argument("--precision", default="fp32", help="with an ONNX file (default %(default)s)")
    parser.add_argument("--timeout", type=float, default=120, help="seconds per stage of a trial (default %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Reduce and write; 1 when there is a defect, 3 when it does not show outside of its cell."""
    cell, row, settings, workspace = find_cell(args)
    symptom = str(row.get("symptom") or "")
    if row and not symptom:
        raise UsageError(f"{cell.id} is {row.get('status')}: there is no failure to reduce")
    if symptom == Symptom.MISMATCH and cell.precision in INTEGERS:
        raise UsageError(f"{cell.id}: a mismatch in integers is judged layer by layer; use bench localise")
    trials = Trials(settings, workspace, cell, _say, seconds=args.timeout)
    try:
        reducer = Reducer(trials, _say, most=args.most, budget=args.budget)
        found = reducer.reduce(str(row.get("stage") or ""), symptom or str(Symptom.MISMATCH))
        folder = args.output or args.results.parent / "reduced" / (row.get("key") or cell.id)
        remarks = write(trials, cell, found, folder)
    finally:
        trials.close()
    print(found.defect.text)
    print(f"{found.nodes} of {found.of} nodes: {', '.join(found.part.described['operators'])}")
    for remark in (*found.notes, *remarks):
        print(remark)
    print(f"{found.trials} trials in {found.seconds:.0f} s; wrote {folder}")
    return 1


def find_cell(args: argparse.Namespace) -> tuple[Cell, Mapping[str, Any], Settings, Workspace]:
    """The cell, its row (empty for a file), and what it needs. Raises UsageError."""
    base = settings_here()
    args.results = args.results or base.results
    settings = replace(base, results=args.results)
    path = Path(args.cell)
    if path.suffix == ".onnx":
        if not path.is_file():
            raise UsageError(f"{path}: no such file")
        return _of_file(args, path, settings)
    row = find_row(args.cell, args.results)
    cell = Cell.from_axes(row["cell"])
    if cell.check is Check.PROPERTY:
        example = args.results.parent / "properties"
        raise UsageError(
            f"{cell.id} is shrunk already: its smallest examples are below {example}; "
            f"bench reduce FOLDER/model.onnx --compiler {cell.compiler} writes a script for one"
        )
    if cell.check not in CHECKS:
        raise UsageError(f"{cell.id} is a check of {cell.check}; this takes {', '.join(CHECKS)}")
    settings = _as_it_ran(settings, row["repro"])
    return cell, row, settings, Workspace.load(settings)


def _as_it_ran(settings: Settings, repro: Sequence[str]) -> Settings:
    """The settings that the cell was computed with: files, seed, options of compilers, calibration."""
    given: dict[str, list[str]] = {}
    for text in repro:
        name, equals, value = str(text).partition("=")
        if equals:
            given.setdefault(name, []).append(value)
    files = tuple(Path(value) for value in (*given.get("--bench-onnx", ()), *given.get("--bench-model", ())))
    return replace(
        settings,
        selection=replace(settings.selection, onnx_files=files),
        seed=int(given.get("--bench-seed", [settings.seed])[0]),
        options=compiler_options(given.get("--bench-option", ())),
        calibration=given.get("--bench-calibration", [settings.calibration])[0],
    )


def _of_file(
    args: argparse.Namespace, path: Path, settings: Settings
) -> tuple[Cell, Mapping[str, Any], Settings, Workspace]:
    settings = replace(settings, selection=replace(settings.selection, onnx_files=(path,)))
    workspace = Workspace.load(settings)
    if bool(args.compiler) is bool(args.importer):
        raise UsageError(f"{path.name}: say with what to try it: --compiler or --importer")
    if args.compiler:
        cell = Cell(Check.EQUIVALENCE, path.stem, "onnx", compiler=args.compiler, precision=args.precision)
        return cell, {}, settings, workspace
    for name, adapter in workspace.catalog.of_kind("framework").items():
        if args.importer in adapter.importers:
            cell = Cell(Check.IMPORT, path.stem, "onnx", importer_framework=name, importer=args.importer)
            return cell, {}, settings, workspace
    raise UsageError(f"--importer {args.importer}: no framework has it")


def _say(text: str) -> None:
    print(text, flush=True)
