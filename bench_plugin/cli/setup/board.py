"""``bench board``: list boards, find out whether one can be used, and what else is done for boards."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Protocol, cast

from bench_plugin.cli.shared.arguments import Actions, add_json, completed_by
from bench_plugin.cli.shared.board.check import FINDING, LIMITS, Finding, checked, leased
from bench_plugin.cli.shared.board.rows import BOARD_COLUMNS, board_rows
from bench_plugin.cli.shared.output import note, print_json, print_table
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.settings import settings_here
from bench_plugin.domain.texts.choices import unknown
from bench_plugin.inventory.workspace import Workspace

HELP = "list boards, and check that one can be reached and used"
# Further actions: modules of cli/shared, by the name of the action, each with HELP, add_arguments and run.
ACTIONS = {"serve": "board.serve", "image": "board.image", "gate": "board.gate", "peaks": "peaks.action"}


class Action(Protocol):
    """A module of an action."""

    HELP: str

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Declare the action's options."""

    @staticmethod
    def run(args: argparse.Namespace) -> int:
        """Do it; returns the exit code."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The actions list, check and mode, and those of ACTIONS."""
    actions = Actions(parser)
    add_json(actions.add("list", _list, "list the boards, and what this machine lacks to reach them"))
    check = actions.add("check", _check, "reach a board, see where it is, and run something small on it")
    completed_by(check.add_argument("name", metavar="NAME", help="a board, see bench board list"), _names)
    check.add_argument(
        "--toolchain", metavar="NAME", help="the runtime that the agent starts in (default: onnxruntime)"
    )
    add_json(check)
    mode = actions.add("mode", _mode, "bring a board into one of the modes that its file names")
    completed_by(mode.add_argument("name", metavar="NAME", help="a board with an agent in Python"), _names)
    mode.add_argument("mode", metavar="MODE", help="a key of the table modes in its file")
    for name, module in ACTIONS.items():
        action = cast(Action, import_module(f"bench_plugin.cli.shared.{module}"))
        action.add_arguments(actions.add(name, action.run, action.HELP))


def run(args: argparse.Namespace) -> int:
    """Do the action; 1 where the board cannot be used or says no, 4 where something is missing here."""
    code: int = args.do(args)
    return code


def _names() -> Iterable[str]:
    return Workspace.load(settings_here()).boards


def _list(args: argparse.Namespace) -> int:
    rows = board_rows(Workspace.load(settings_here()))
    if args.json:
        print_json(rows)
    elif rows:
        print_table(rows, BOARD_COLUMNS)
    else:
        note("there are no boards here; docs/boards.md says how one is described")
    return 0


def _check(args: argparse.Namespace) -> int:
    workspace = _workspace_with(args.name)
    findings: list[Finding] = []
    for finding in checked(workspace, args.name, args.toolchain):
        findings.append(finding)
        if not args.json:
            _print(finding)
    if args.json:
        print_json([{"subject": one.subject, "fine": one.fine, "text": one.text} for one in findings])
    return max((one.exit_code for one in findings), default=0)


def _mode(args: argparse.Namespace) -> int:
    """0, or 1 where the command fails on the board. Raises UsageError for a mode that the board does not have."""
    workspace = _workspace_with(args.name)
    reach = workspace.boards[args.name]
    if args.mode not in reach.board.modes:
        raise unknown("mode", args.mode, reach.board.modes)
    if reach.programs:
        raise UsageError(f"board {args.name} runs compiled programs only, and no commands")
    with leased(workspace, args.name) as agent:
        done = agent.call("probe", "command", {"argv": list(reach.board.modes[args.mode])}, limits=LIMITS).meta
    print(done["said"], end="")
    if done["code"]:
        note(f"bench board: mode {args.mode}: {reach.board.modes[args.mode][0]} ended with exit code {done['code']}")
    return FINDING if done["code"] else 0


def _workspace_with(name: str) -> Workspace:
    """The workspace, which has a board of that name. Raises UsageError."""
    workspace = Workspace.load(settings_here())
    if name not in workspace.boards:
        raise unknown("board", name, workspace.boards, listed="boards")
    return workspace


def _print(finding: Finding) -> None:
    print(f"{'ok    ' if finding.fine else 'FAILED'} {finding.subject}: {finding.text}")
    sys.stdout.flush()
