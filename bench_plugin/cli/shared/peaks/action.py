"""The action ``peaks`` of ``bench board``: measure the roofs of this machine or of a board, and say which are used."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from bench_plugin.characterise.prediction.roofs import TargetMode, modes_of
from bench_plugin.cli.characterise.needs import amount
from bench_plugin.cli.shared.arguments import add_json, completed_by
from bench_plugin.cli.shared.output import note, print_json, print_table, shown
from bench_plugin.cli.shared.peaks.measuring import LOCAL, Emulated, measured_on
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.settings import settings_here
from bench_plugin.domain.texts.choices import unknown
from bench_plugin.inventory.hardware.peaks_file import FOLDER, MeasuredPeaks, peaks_text
from bench_plugin.inventory.workspace import Workspace

HELP = "measure the peaks of this machine or of a board with microkernels, and write them beside the board"
COLUMNS = ("figure", "mode", "datasheet", "measured", "used")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """BOARD, where the file goes, and how long each figure is measured."""
    board = parser.add_argument(
        "name", nargs="?", default=LOCAL, metavar="BOARD", help="a board; without it this machine"
    )
    completed_by(board, _names)
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="where the file goes (default: boards/peaks/BOARD.toml)"
    )
    parser.add_argument(
        "--seconds", type=float, default=0.1, metavar="S", help="how long one repetition takes (default %(default)s)"
    )
    parser.add_argument(
        "--repetitions", type=int, default=7, metavar="N", help="how often each is measured (default %(default)s)"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Measure, write the file and print it; 3 for an emulator, whose times say nothing. Raises BenchError."""
    if args.repetitions < 1 or args.seconds <= 0:
        raise UsageError("--repetitions and --seconds must be above 0")
    settings = settings_here()
    workspace = Workspace.load(settings)
    if args.name != LOCAL and args.name not in workspace.boards:
        raise unknown("board", args.name, (LOCAL, *workspace.boards), listed="boards")
    found = measured_on(workspace, args.name, seconds=args.seconds, repetitions=args.repetitions)
    if isinstance(found, Emulated):
        if args.json:
            print_json({"board": args.name, "emulated": True, "kernels": found.kernels})
        note(f"bench board: {found.text}")
        return 3
    path = args.output or settings.root / FOLDER / f"{args.name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(peaks_text(found), "utf-8")
    rows = compared(workspace, found)
    if args.json:
        print_json({"file": str(path), "board": args.name, "figures": rows})
    else:
        print_table(rows, COLUMNS)
    note(f"wrote {shown(path)}; bench predict uses it")
    return 0


def compared(workspace: Workspace, found: MeasuredPeaks) -> list[dict[str, object]]:
    """Of every figure what is published, what was measured, and which of them predictions use."""
    said = workspace.hardware[workspace.target_name(found.board)]
    published = {one.mode: one for one in modes_of(found.board, said)}
    return [row for where in modes_of(found.board, said, found) for row in _rows(where, published.get(where.mode))]


def _rows(where: TargetMode, published: TargetMode | None) -> Iterable[dict[str, object]]:
    for datatype, figure in where.peaks.items():
        sheet = published.peaks.get(datatype) if published else None
        yield {
            "figure": datatype, "mode": where.mode, "datasheet": f"{amount(round(sheet.value))}op/s" if sheet else None,
            "measured": f"{amount(round(figure.value))}op/s" if figure.basis == "measured" else None,
            "used": figure.basis,
        }  # fmt: skip
    sheet = published.bandwidth if published else None
    if where.bandwidth is not None:
        yield {
            "figure": f"bandwidth ({where.bandwidth.of})", "mode": where.mode,
            "datasheet": f"{amount(round(sheet.value))}B/s" if sheet else None,
            "measured": f"{amount(round(where.bandwidth.value))}B/s" if where.bandwidth.basis == "measured" else None,
            "used": where.bandwidth.basis,
        }  # fmt: skip


def _names() -> Iterable[str]:
    return Workspace.load(settings_here()).boards
