"""``bench repro CELL``: one cell of a results file again, alone."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench_plugin.cli.shared.arguments import add_results, completed_by
from bench_plugin.cli.shared.names import keys
from bench_plugin.cli.shared.output import print_json
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.paths import suite_module
from bench_plugin.domain.settings import settings_here
from bench_plugin.results.history import find_row

HELP = "run one cell of a results file again, alone"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """CELL and where to look it up."""
    cell = parser.add_argument("cell", metavar="CELL", help="a row's 12-hex key (or a unique start of it) or node id")
    completed_by(cell, keys)
    add_results(parser, "the file to look it up in")
    parser.add_argument("--print", action="store_true", help="print the pytest command instead of running it")
    parser.add_argument("--json", action="store_true", help="with --print: the command as JSON, a list of arguments")
    parser.add_argument("pytest_arguments", nargs="*", metavar="-- ARG", help="further arguments for pytest")


def run(args: argparse.Namespace) -> int:
    """Run pytest on the cell and make its stages again; exit code 0 when it passes, 1 when it does not.

    Raises UsageError for a cell that no run has, and for ``--json`` without ``--print``.
    """
    if args.json and not args.print:
        raise UsageError("--json goes with --print; a run of pytest prints no JSON")
    settings = settings_here()
    results = args.results or settings.results
    row = find_row(args.cell, results)
    own = results.parent / "repro" / "results.jsonl"  # its pages do not replace those of the run
    command = [
        sys.executable,
        "-m",
        "pytest",
        *_arguments(row["repro"], settings.root),
        "--bench-refresh",
        f"--bench-results={own.absolute()}",
        "-rA",
        *args.pytest_arguments,
    ]
    if args.json:
        print_json({"folder": settings.root, "command": command})
        return 0
    if args.print:
        print(shlex.join(command))
        return 0
    # Node ids and files of a row are relative to the project, wherever in it the user stands.
    code = subprocess.run(command, cwd=settings.root, check=False).returncode
    return code if code in (0, 1) else 3


def _arguments(repro: Sequence[str], root: Path) -> list[str]:
    """A row's arguments for pytest; a suite of the package is named as a module where it lies outside of the project,
    whose configuration pytest would not look for beside it.
    """
    nodeid, *options = repro
    file, separator, test = nodeid.partition("::")
    module = "" if (root / file).is_file() else suite_module(file)
    return ["--pyargs", f"{module}{separator}{test}", *options] if module else [*repro]
