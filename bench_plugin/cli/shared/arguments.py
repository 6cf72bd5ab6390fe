"""How a subcommand declares its actions, ``--json`` and what the shell completes."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

EXIT_CODES = "exit codes: 0 fine, 1 finding, 2 usage, 3 cannot say, 4 environment missing"
Do = Callable[..., int]  # of the parsed arguments, and of what the subcommand adds to them
Completer = Callable[[], Iterable[str]]


class Actions:
    """The actions of a subcommand, as ``sync`` is one of ``bench env``: each with its own options and its own help."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._group = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    def add(self, name: str, do: Do, help: str) -> argparse.ArgumentParser:
        """Declare an action; ``args.do(args)`` does it. Returns its parser, for its options."""
        parser = self._group.add_parser(name, help=help, description=help, epilog=EXIT_CODES)
        parser.set_defaults(do=do)
        return parser


def add_json(parser: argparse.ArgumentParser) -> None:
    """``--json``: the data goes to standard output as JSON, everything else to standard error."""
    parser.add_argument("--json", action="store_true", help="print JSON on standard output, and nothing else there")


def add_results(parser: argparse.ArgumentParser, what: str) -> None:
    """``--results FILE``: None stands for the configured one, ``reports/results.jsonl`` as a rule."""
    parser.add_argument("--results", type=Path, metavar="FILE", help=f"{what} (default: the results of the last run)")


def completed_by(action: argparse.Action, values: Completer) -> None:
    """Let the shell complete an argument with ``values()``, which is called when the Tab key is pressed."""
    setattr(action, "completer", lambda **_: values())  # noqa: B010 (argcomplete's attribute, unknown to argparse)
