"""``bench compare BASE HEAD``: what changed between two runs, and which versions changed beside it."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from bench_plugin.cli.shared.output import note, shown
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.settings import settings_here
from bench_plugin.domain.thresholds import LEAST_SLOWDOWN, MOST_SLOWDOWN, Thresholds
from bench_plugin.report.comparison.changes import Comparison, compare
from bench_plugin.report.comparison.document import cell_text, counted, document, tables
from bench_plugin.report.comparison.errors import FACTOR
from bench_plugin.report.comparison.summary import summary, write
from bench_plugin.report.entries import entry
from bench_plugin.report.formats import markdown
from bench_plugin.report.formats.terminal import CHOICES, lines, painted, wants_colour
from bench_plugin.results.history import find_run
from bench_plugin.results.rows import Rows, read_rows

HELP = "say what changed between two runs: status, numbers, time, instructions, memory"
FINDING, CANNOT_SAY = 1, 3
FORMATS = ("text", "md")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The two runs, what counts as a change, and how it is shown."""
    for name, which in (("base", "earlier"), ("head", "later")):
        parser.add_argument(
            name, metavar=name.upper(), help=f"the {which} run: a results file, or a run id (or its beginning)"
        )
    parser.add_argument(
        "--results", type=Path, default=Path("reports/results.jsonl"), help="where run ids are looked up (%(default)s)"
    )
    parser.add_argument(
        "--factor", type=float, default=FACTOR, help="an E that grew or shrank this many times (default %(default)s)"
    )
    parser.add_argument(
        "--max-slowdown", type=float, metavar="SHARE",
        help="the smallest change of a time that counts, where no marker and no row of the configuration says another "
        "(default 0.03)",
    )  # fmt: skip
    parser.add_argument("--no-times", action="store_true", help="compare no times, such as those of other machines")
    parser.add_argument("--format", choices=FORMATS, default="text", help="text (default) or Markdown")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument(
        "--summary", type=Path, metavar="FILE", help="write a summary for a pull request, less than 60 kB of Markdown"
    )
    parser.add_argument("--color", choices=CHOICES, default="auto", help="colours (default: on a terminal)")


def run(args: argparse.Namespace) -> int:
    """Print what changed; 1 when something is for the worse, 3 where nothing can be said, 0 otherwise.

    Raises UsageError for an unknown run and for a number out of its range.
    """
    if not args.factor > 1:
        raise UsageError(f"--factor: {args.factor:g} is not above 1")
    thresholds = _thresholds(args)
    base, head = (_read(name, args.results) for name in (args.base, args.head))
    found = compare(base.rows, head.rows, thresholds, factor=args.factor, timed=not args.no_times)
    if args.summary:
        entries = [entry(row) for row in head.rows if row["kind"] in ("cell", "declared")]
        write(args.summary, summary(found, entries))
        note(f"wrote {shown(args.summary)}")
    if args.json:
        print(json.dumps(found.plain(), indent=1, allow_nan=False))
    elif args.format == "md":
        print(markdown.render(document(found)), end="")
    else:
        _print(found, coloured=wants_colour(sys.stdout, args.color))
    return FINDING if found.regressions else CANNOT_SAY if found.undecided else 0


def _read(name: str, results: Path) -> Rows:
    rows = read_rows(find_run(name, results))
    for remark in rows.notes:
        note(remark)
    return rows


def _thresholds(args: argparse.Namespace) -> Thresholds:
    found = settings_here().thresholds
    if args.max_slowdown is None:
        return found
    if not LEAST_SLOWDOWN <= args.max_slowdown <= MOST_SLOWDOWN:
        raise UsageError(
            f"--max-slowdown: {args.max_slowdown:g} is not from {LEAST_SLOWDOWN:g} to {MOST_SLOWDOWN:g}; 0.03 is 3 %"
        )
    return replace(found, max_slowdown=args.max_slowdown)


def _print(found: Comparison, *, coloured: bool) -> None:
    width = shutil.get_terminal_size().columns
    for title, table in tables(found):
        print(f"{title}:")
        for line in lines(table, width):
            print(painted(line, coloured))
        print()
    for change in found.statuses:
        if change.direction == "regression" and change.key:
            print(f"{change.key}  {cell_text(change.cell)}: {change.reason}")
    print(counted(found))
    if found.undecided:
        print(f"cannot say: {found.undecided}")
