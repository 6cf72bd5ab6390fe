"""``bench diff A B``: which cells changed between two runs, and which versions changed beside them."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

from bench_plugin.domain.errors import UsageError
from bench_plugin.report.blocks import Table, TableCell
from bench_plugin.report.difference import FACTOR, Change, Difference, by_factor, compare_rows
from bench_plugin.report.formats.terminal import CHOICES, lines, painted, wants_colour
from bench_plugin.report.parts import number
from bench_plugin.results.history import find_run
from bench_plugin.results.rows import read_rows

HELP = "say which cells changed status or error between two runs"
COLOURS = {"worse": "ERROR", "better": "supported"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The two runs, and what counts as a change."""
    for name, which in (("before", "first"), ("after", "second")):
        parser.add_argument(
            name, metavar=name.upper(), help=f"the {which} run: a results file, or a run id (or its beginning)"
        )
    parser.add_argument(
        "--results", type=Path, default=Path("reports/results.jsonl"), help="where run ids are looked up (%(default)s)"
    )
    parser.add_argument(
        "--factor", type=float, default=FACTOR, help="an E that grew or shrank this many times (default %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("--color", choices=CHOICES, default="auto", help="colours (default: on a terminal)")


def run(args: argparse.Namespace) -> int:
    """Print what changed; 1 when a cell changed for the worse, 0 otherwise. Raises UsageError for an unknown run."""
    if not args.factor > 1:
        raise UsageError(f"--factor: {args.factor:g} is not above 1")
    before, after = (read_rows(find_run(name, args.results)).rows for name in (args.before, args.after))
    found = compare_rows(before, after, by_factor(args.factor))
    if args.json:
        print(json.dumps(found.plain(), indent=1, allow_nan=False))
    else:
        _print(found, coloured=wants_colour(sys.stdout, args.color))
    return 1 if found.worse else 0


def _print(found: Difference, *, coloured: bool) -> None:
    width = shutil.get_terminal_size().columns
    tables = [_changes(found), _versions(found)]
    for table in (table for table in tables if table.rows):
        for line in lines(table, width):
            print(painted(line, coloured))
        print()
    for change in found.changes:
        if change.kind == "worse" and change.key:
            print(f"{change.key}  {_cell(change)}: {(change.reason.strip().splitlines() or [''])[0]}")
    counts = {kind: sum(change.kind == kind for change in found.changes) for kind in ("worse", "better", "other")}
    rows = {kind: sum(change.kind == kind for change in found.changes) for kind in ("added", "gone")}
    said = ", ".join(f"{count} {kind}" for kind, count in (counts | rows).items() if count)
    print(f"{found.same} cells are the same; {said or 'nothing changed'}")


def _changes(found: Difference) -> Table:
    rows = tuple(
        (
            TableCell(_cell(change)), TableCell(change.kind, COLOURS.get(change.kind, "")), TableCell(change.before),
            TableCell(change.after), TableCell(number(change.error_before)), TableCell(number(change.error_after)),
            TableCell("" if change.ratio is None else f"{change.ratio:.2g}"),
        )
        for change in found.changes
    )  # fmt: skip
    return Table(("cell", "change", "before", "after", "E before", "E after", "ratio"), rows)


def _versions(found: Difference) -> Table:
    rows = tuple((TableCell(name), TableCell(old), TableCell(new)) for name, (old, new) in found.versions.items())
    return Table(("version", "before", "after"), rows)


def _cell(change: Change) -> str:
    return " ".join(str(value) for axis, value in change.cell.items() if (axis, value) not in USUAL)


USUAL = {("target", "local"), ("precision", "fp32")}
