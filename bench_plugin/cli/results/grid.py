"""``bench grid RESULTS``: the grids of a results file, on the terminal and as pages."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.settings import settings_here
from bench_plugin.report.formats.terminal import CHOICES, lines, painted, wants_colour
from bench_plugin.report.pages.page import FORMATS, Page
from bench_plugin.report.pages.registry import read_pages
from bench_plugin.report.summary import totals_table
from bench_plugin.results.history import find_run

HELP = "draw the grids of a results file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RESULTS and where the pages go."""
    parser.add_argument(
        "results",
        nargs="?",
        default="",
        help="a results file, or the id of an earlier run (default: the one configured)",
    )
    parser.add_argument("--output", type=Path, help="folder for the pages (default: beside RESULTS)")
    parser.add_argument("--name", help="the page's name without suffix (default: onnx-support, equivalence ...)")
    parser.add_argument(
        "--format", choices=FORMATS, action="append", help="a page to write, may be repeated (default: all of them)"
    )
    parser.add_argument(
        "--color", choices=CHOICES, default="auto", help="colours (default: on a terminal, unless NO_COLOR is set)"
    )
    parser.add_argument("--json", action="store_true", help="print the data of the pages instead, and write no page")


def run(args: argparse.Namespace) -> int:
    """Print the grids and write the pages; 1 when a cell failed that no expectation covers."""
    configured = settings_here().results
    results = find_run(args.results, configured) if args.results else configured
    pages = read_pages(results)
    if args.json:
        print(json.dumps({page.name: page.data for page in pages}, indent=1, allow_nan=False))
    else:
        _draw(pages, wants_colour(sys.stdout, args.color))
        _write(args, results, pages)
    return 1 if any(entry.failed for page in pages for entry in page.entries) else 0


def _draw(pages: Sequence[Page], coloured: bool) -> None:
    width = shutil.get_terminal_size().columns
    for heading, table in [*(grid for page in pages for grid in page.grids), ("Cells", totals_table(pages))]:
        print(heading)
        for line in lines(table, width):
            print(painted(line, coloured))
        print()
    for remark in dict.fromkeys(remark for page in pages for remark in page.remarks if remark):
        print(remark)


def _write(args: argparse.Namespace, results: Path, pages: Sequence[Page]) -> None:
    if args.name and len(pages) > 1:
        found = ", ".join(page.name for page in pages)
        raise UsageError(f"--name: {results} gives {len(pages)} pages ({found}), which cannot share a name")
    for page in pages:
        for path in page.write(args.output or results.parent, name=args.name or "", formats=args.format or FORMATS):
            print(f"wrote {path}")
