"""``bench reduce CELL``: the fewest nodes that fail as the cell does, with a script that needs only the tool."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench_plugin.cli.shared.arguments import add_json, add_results, completed_by
from bench_plugin.cli.shared.names import compilers, failed_keys, importers
from bench_plugin.cli.shared.output import note, print_json, shown
from bench_plugin.diagnosis.reduce import Reducer
from bench_plugin.diagnosis.reduction_folder import described, write
from bench_plugin.diagnosis.trials import Trials
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Symptom
from bench_plugin.domain.settings import Settings, settings_here
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.results.history import find_row

HELP = "shrink a failing cell's model to the fewest nodes that fail alike, with a script for an upstream report"
CHECKS = (Check.EQUIVALENCE, Check.OPERATOR, Check.IMPORT, Check.PROPERTY)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """CELL (or a file), the limits of the search, and where the result goes."""
    add_cell_arguments(parser)
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="where the result goes (default: reduced/<key> beside results)",
    )
    parser.add_argument("--most", type=int, default=300, metavar="TRIALS", help="trials at most (default %(default)s)")
    parser.add_argument(
        "--budget", type=float, default=1800, metavar="SECONDS", help="time for all trials (default %(default)s)"
    )
    add_json(parser)


def add_cell_arguments(parser: argparse.ArgumentParser) -> None:
    """What names a cell: a row of a results file, or an ONNX file with a tool."""
    cell = parser.add_argument("cell", metavar="CELL", help="a row's 12-hex key or node id, or an ONNX file")
    add_results(parser, "the file to look it up in")
    compiler = parser.add_argument("--compiler", default="", help="with an ONNX file: the compiler to try it in")
    importer = parser.add_argument("--importer", default="", help="with an ONNX file: the importer to try it in")
    parser.add_argument("--precision", default="fp32", help="with an ONNX file (default %(default)s)")
    parser.add_argument(
        "--timeout", type=float, default=120, metavar="SECONDS", help="time per stage of a trial (default %(default)s)"
    )
    for action, values in ((cell, failed_keys), (compiler, compilers), (importer, importers)):
        completed_by(action, values)


def run(args: argparse.Namespace) -> int:
    """Reduce the cell and write the result; 0 when that was done, 3 when the failure does not occur outside its cell.

    Raises UsageError for a cell that did not fail, or whose failure cannot be reduced.
    """
    cell, row, settings, workspace = find_cell(args)
    symptom = str(row.get("symptom") or "")
    if row and not symptom:
        raise UsageError(f"{cell.id} is {row.get('status')}: there is no failure to reduce")
    trials = Trials(settings, workspace, cell, note, seconds=args.timeout)
    try:
        reducer = Reducer(trials, note, most=args.most, budget=args.budget)
        found = reducer.reduce(str(row.get("stage") or ""), symptom or str(Symptom.MISMATCH))
        folder = args.output or settings.results.parent / "reduced" / (row.get("key") or cell.id)
        remarks = write(trials, cell, found, folder)
    finally:
        trials.close()
    if args.json:
        print_json({"folder": folder, "remarks": remarks, **described(trials, cell, found)})
        return 0
    print(found.defect.text)
    print(f"{found.nodes} of {found.of} nodes: {', '.join(found.part.described['operators'])}")
    for remark in (*found.notes, *remarks):
        print(remark)
    print(f"{found.trials} trials in {found.seconds:.0f} s; wrote {shown(folder)}")
    return 0


def find_cell(args: argparse.Namespace) -> tuple[Cell, Mapping[str, Any], Settings, Workspace]:
    """The cell, its row (empty for a file), and what it needs. Raises UsageError."""
    settings = settings_here()
    settings = replace(settings, results=args.results or settings.results)
    path = Path(args.cell)
    if path.suffix == ".onnx":
        if not path.is_file():
            raise UsageError(f"{path}: no such file")
        return _of_file(args, path, settings)
    row = find_row(args.cell, settings.results)
    cell = Cell.from_axes(row["cell"])
    if cell.check not in CHECKS:
        raise UsageError(f"{cell.id} is a check of {cell.check}; this takes {', '.join(CHECKS)}")
    settings = settings.as_computed(row)
    if cell.check is Check.PROPERTY:
        cell, settings = _of_example(cell, row, settings)
    return cell, row, settings, Workspace.load(settings)


def _of_example(cell: Cell, row: Mapping[str, Any], settings: Settings) -> tuple[Cell, Settings]:
    """The cell of a property cell's smallest graph, which is a file with its inputs. Raises UsageError.

    That of a new signature is taken before those of known ones.
    """
    if not row.get("symptom"):
        raise UsageError(f"{cell.id} is {row.get('status')}: there is no failure to reduce")
    numbers = row.get("numbers") or {}
    signatures = [*(numbers.get("found") or ()), *(numbers.get("seen") or ())]
    folder = next((Path(one["folder"]) for one in signatures if one.get("folder")), None)
    if folder is None or not (folder / "model.onnx").is_file():
        place = shown(folder or settings.results.parent / "properties")
        raise UsageError(f"{cell.id}: its example is not below {place} any more; run the cell again")
    chosen = replace(
        settings.selection, onnx_files=(folder / "model.onnx",), onnx_inputs=(folder / "inputs.npz",)
    )  # fmt: skip
    example = Cell(Check.EQUIVALENCE, "model", "onnx", compiler=cell.compiler, precision=cell.precision)
    return example, replace(settings, selection=chosen)


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
