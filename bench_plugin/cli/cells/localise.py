"""``bench localise CELL``: which nodes compute wrongly, and how the error grows along the graph."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from bench_plugin.cli.cells.reduce import add_cell_arguments, find_cell
from bench_plugin.cli.shared.arguments import add_json
from bench_plugin.cli.shared.output import note, print_json
from bench_plugin.diagnosis.localise import Localised, Localiser, Place
from bench_plugin.diagnosis.trials import Trials
from bench_plugin.report.pages.error_profile import Bar, page, text_bars
from bench_plugin.results.rows import finite

HELP = "rank the nodes of a cell's graph by local error and draw the error along the graph"
MOST_NOTES = 6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """CELL (or a file), and where the page goes."""
    add_cell_arguments(parser)
    parser.add_argument("--top", type=int, default=10, metavar="NODES", help="nodes to list (default %(default)s)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="an HTML page of the error profile")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the guilty nodes, the ranking and the profile; 1 when a node is out of tolerance."""
    cell, _, settings, workspace = find_cell(args)
    trials = Trials(settings, workspace, cell, note, seconds=args.timeout)
    try:
        found = Localiser(trials, note).localise()
    finally:
        trials.close()
    if args.json:
        print_json({"cell": cell.axes(), **finite(asdict(found))})
    else:
        _print(found, args.top)
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        text = page(_bars(found), title=f"Error along {cell.id}", unit=found.unit)
        args.output.write_text(text, "utf-8")
        note(f"wrote {args.output}")
    return 1 if found.guilty else 0


def _print(found: Localised, top: int) -> None:
    if found.profile:
        print(f"\n{found.unit} of every tensor, end to end (logarithmic; # is out of tolerance)")
        for line in text_bars(_bars(found), found.unit):
            print(line)
    if found.ranking:
        print(f"\nnodes by local error, each on its float64 inputs ({len(found.ranking)} of {found.nodes} nodes)")
        for place in found.ranking[:top]:
            print(_line(place, found.unit))
    print()
    for place in found.guilty:
        print(f"wrong: {place.what} ({place.name}): {place.reason}")
    if not found.guilty:
        print("no node is out of tolerance when it is given its float64 inputs")
    for remark in found.notes[:MOST_NOTES]:
        print(f"note: {remark}")
    print(f"{found.compilations} compilations")


def _line(place: Place, unit: str) -> str:
    figure = "-" if place.error is None else f"{place.error:.2e}" if unit == "E" else f"{place.error:g}"
    mark = "#" if place.wrong else " "
    return f"{mark} {place.what[:24]:24} {unit} {figure:>9}  {place.ratio:8.3g} x allowed  {place.name}"


def _bars(found: Localised) -> list[Bar]:
    return [Bar(place.name, place.what, place.error, bool(place.wrong)) for place in found.profile]
