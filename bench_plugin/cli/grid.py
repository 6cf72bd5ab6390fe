"""``bench grid RESULTS``: the grids of a results file, on the terminal and as pages."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.settings import settings_here
from bench_plugin.report.formats.terminal import lines
from bench_plugin.report.pages.registry import FORMATS, read_pages

HELP = "draw the grids of a results file"
CODES = {"green": "32", "red": "31", "yellow": "33"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RESULTS and where the pages go."""
    parser.add_argument("results", type=Path, nargs="?", help="a results file (default: the configured one)")
    parser.add_argument("--output", type=Path, help="folder for the pages (default: beside RESULTS)")
    parser.add_argument("--name", help="the page's name without suffix (default: onnx-support, equivalence ...)")
    parser.add_argument(
        "--format", choices=FORMATS, action="append", help="a page to write, may be repeated (default: all of them)"
    )


def run(args: argparse.Namespace) -> int:
    """Print the grid and write the pages; 1 when a cell failed that no expectation covers."""
    args.results = args.results or settings_here().results
    pages = read_pages(args.results)
    if args.name and len(pages) > 1:
        found = ", ".join(page.name for page in pages)
        raise UsageError(f"--name: {args.results} gives {len(pages)} pages ({found}), which cannot share a name")
    coloured = sys.stdout.isatty()
    for page in pages:
        if len(pages) > 1:
            print(f"{page.heading}")
        for line in lines(page.table):
            print("".join(_coloured(text, colour) if coloured else text for text, colour in line).rstrip())
        for remark in page.remarks:
            print(remark)
        folder = args.output or args.results.parent
        for path in page.write(folder, name=args.name or "", formats=args.format or FORMATS):
            print(f"wrote {path}")
    return 1 if any(entry.unexpected for page in pages for entry in page.entries) else 0


def _coloured(text: str, colour: str) -> str:
    return f"\x1b[{CODES[colour]}m{text}\x1b[0m" if colour else text
