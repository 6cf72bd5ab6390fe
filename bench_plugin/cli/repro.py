"""``bench repro CELL``: one cell of a results file again, alone."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

from bench_plugin.domain.settings import settings_here
from bench_plugin.results.history import find_row

HELP = "run one cell of a results file again, alone"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """CELL and where to look it up."""
    parser.add_argument("cell", metavar="CELL", help="a row's 12-hex key (or a unique beginning of it), or a node id")
    parser.add_argument(
        "--results", type=Path, help="look it up here and in the earlier runs (default: the configured file)"
    )
    parser.add_argument("--print", action="store_true", help="print the pytest command instead of running it")
    parser.add_argument("pytest_arguments", nargs="*", metavar="-- ARG", help="further arguments for pytest")


def run(args: argparse.Namespace) -> int:
    """Run pytest on the cell with the stages made afresh; exit code 0 when it passes, 1 when it does not."""
    args.results = args.results or settings_here().results
    row = find_row(args.cell, args.results)
    own = args.results.parent / "repro" / "results.jsonl"  # its pages do not replace those of the run
    command = [
        sys.executable,
        "-m",
        "pytest",
        *row["repro"],
        "--bench-refresh",
        f"--bench-results={own}",
        "-rA",
        *args.pytest_arguments,
    ]
    if args.print:
        print(shlex.join(command))
        return 0
    code = subprocess.run(command, check=False).returncode
    return code if code in (0, 1) else 3
