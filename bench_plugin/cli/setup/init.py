"""``bench init``: a configuration and one example test in a project that has neither."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from bench_plugin.cli.shared.arguments import add_json
from bench_plugin.cli.shared.output import note, print_json, shown
from bench_plugin.cli.shared.start.project_files import EXAMPLE_TEST, WORKFLOWS, Planned, planned_files
from bench_plugin.domain.errors import UsageError

HELP = "write a configuration and an example test into a project"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The folder, the model, and workflows."""
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path(), metavar="FOLDER", help="the project (default: this folder)"
    )
    parser.add_argument(
        "--onnx", type=Path, metavar="FILE", help="the ONNX file that the example tests (default: a small one is made)"
    )
    parser.add_argument("--ci", choices=sorted(WORKFLOWS), help="add the ready workflows for this system (docs/ci.md)")
    parser.add_argument("--dry-run", action="store_true", help="print what would be written, and write nothing")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Write the files; 2 where one of them is there, and then nothing is written.

    Raises UsageError for a folder that is not there, and as :func:`planned_files` does.
    """
    root = args.folder.absolute()
    if not root.is_dir():
        raise UsageError(f"there is no folder {root}")
    planned = planned_files(root, args.onnx and args.onnx.absolute(), args.ci)
    if not args.dry_run:
        for one in planned:
            one.write()
    if args.json:
        print_json([{"path": one.path, "appended": one.appended, "bytes": len(one.content)} for one in planned])
        return 0
    _say(planned, dry=args.dry_run)
    if args.dry_run:
        return 0
    if args.ci:
        note("the workflows speak of this plugin's own suites: docs/ci.md lists the lines to change")
    test = next(one.path for one in planned if one.path.name == EXAMPLE_TEST)
    note(f"run it: pytest {shown(test)} (ONNX Runtime is installed into an environment of its own on the first run)")
    return 0


def _say(planned: Sequence[Planned], *, dry: bool) -> None:
    """One line per file, and in a dry run the text of those that hold little."""
    for one in planned:
        what = "append to" if one.appended else "write"
        done = f"would {what}" if dry else {"write": "wrote", "append to": "appended to"}[what]
        print(f"{done} {shown(one.path)}")
        if dry and one.path.suffix not in (".onnx", ".yml"):
            print("".join(f"    {line}".rstrip() + "\n" for line in one.content.decode().strip().splitlines()), end="")
