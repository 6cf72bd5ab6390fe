"""``bench board gate``: instructions, flash, RAM and stack of microcontroller cells, compared with a baseline."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench_plugin.cli.shared.arguments import add_json, add_results
from bench_plugin.cli.shared.board.baseline import Change, changes, figures_of, read_baseline, write_baseline
from bench_plugin.cli.shared.output import note, print_json, print_table, shown
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.settings import settings_here
from bench_plugin.results.rows import read_rows

HELP = "compare what microcontroller cells counted with a baseline, exactly"
BASELINE = Path("docs/microcontrollers.json")
COLUMNS = ("cell", "figure", "baseline", "now", "change")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The results, the baseline, and whether it is written anew."""
    add_results(parser, "the results of a run")
    parser.add_argument(
        "--baseline", type=Path, default=BASELINE, metavar="FILE", help="the committed figures (%(default)s)"
    )
    parser.add_argument("--update", action="store_true", help="write the figures of these results into the baseline")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the figures that changed; 1 where there are some and --update is not given.

    Cells of the baseline that were not run are not compared. Raises UsageError where nothing was counted.
    """
    results = args.results or settings_here().results
    now = figures_of(read_rows(results).rows)
    if not now:
        wanted = "suites/equivalence --targets unicorn-m3 --compilers emx"
        raise UsageError(f"{shown(results)}: no cell counted instructions; run {wanted}")
    exists = args.baseline.exists()
    before = read_baseline(args.baseline) if exists or not args.update else {}
    found = changes(before, now)
    if args.json:
        print_json([change._asdict() for change in found])
    elif found:
        print_table([_row(change) for change in found], COLUMNS)
    if args.update:
        write_baseline(args.baseline, {**before, **now})
        note(f"{shown(args.baseline)}: {len(now)} cells written, {len(found)} figures changed")
        return 0
    not_run = len(before.keys() - now.keys())
    rest = f", {not_run} of the baseline were not run" if not_run else ""
    note(f"{len(now)} cells compared with {shown(args.baseline)}: {len(found)} figures changed{rest}")
    return 1 if found else 0


def _row(change: Change) -> dict[str, object]:
    before, now = change.baseline, change.now
    share = "new" if before is None else "gone" if now is None else f"{now - before:+d} ({_percent(before, now)})"
    return {"cell": change.cell, "figure": change.figure, "baseline": before, "now": now, "change": share}


def _percent(before: int, now: int) -> str:
    return f"{100 * (now - before) / before:+.3g} %" if before else "was 0"
