"""``bench grid RESULTS``: the support grid of a results file, on the terminal and as pages."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench_plugin.report.terminal import lines
from bench_plugin.report.write import FORMATS, NAME, read_grid, write_pages

HELP = "draw the ONNX support grid of a results file"
CODES = {"green": "32", "red": "31", "yellow": "33"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RESULTS and where the pages go."""
    parser.add_argument("results", type=Path, nargs="?", default=Path("reports/results.jsonl"), help="a results file")
    parser.add_argument("--output", type=Path, help="folder for the pages (default: beside RESULTS)")
    parser.add_argument("--name", default=NAME, help="the pages' name without suffix (default %(default)s)")
    parser.add_argument(
        "--format", choices=FORMATS, action="append", help="a page to write, may be repeated (default: all of them)"
    )


def run(args: argparse.Namespace) -> int:
    """Print the grid and write the pages; 1 when a cell failed that no expectation covers."""
    grid = read_grid(args.results)
    coloured = sys.stdout.isatty()
    for line in lines(grid):
        print("".join(_coloured(text, colour) if coloured else text for text, colour in line).rstrip())
    for remark in (grid.partial, *grid.notes):
        if remark:
            print(remark)
    for path in write_pages(grid, args.output or args.results.parent, name=args.name, formats=args.format or FORMATS):
        print(f"wrote {path}")
    unexpected = [
        entry
        for entry in grid.failures()
        if entry.status in ("ERROR", "mismatch", "unsupported") and not entry.expected
    ]
    return 1 if unexpected else 0


def _coloured(text: str, colour: str) -> str:
    return f"\x1b[{CODES[colour]}m{text}\x1b[0m" if colour else text
