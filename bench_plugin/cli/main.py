"""The command ``bench``: finds the subcommand's module, runs it, turns errors that a person can mend into messages."""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, cast

import bench_plugin.cli
from bench_plugin import __version__
from bench_plugin.domain.errors import BenchError

EPILOG = "exit codes: 0 fine, 1 finding, 2 usage, 3 cannot say, 4 environment missing"


class Subcommand(Protocol):
    """What a module of this folder offers."""

    HELP: str

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Declare the subcommand's options."""

    @staticmethod
    def run(args: argparse.Namespace) -> int:
        """Do it; returns the exit code."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``bench`` with ``argv`` (the process's own by default); returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    names = subcommands()
    if not arguments or arguments[0] not in names:
        _top_parser(names).parse_args(arguments)
        return 2
    name = arguments[0]
    try:
        module = cast(Subcommand, importlib.import_module(f"bench_plugin.cli.{name}"))
        parser = argparse.ArgumentParser(prog=f"bench {name}", description=module.HELP, epilog=EPILOG)
        module.add_arguments(parser)
        code = module.run(parser.parse_args(arguments[1:]))
        sys.stdout.flush()
        return code
    except BenchError as error:
        print(f"bench {name}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output left (`bench ... | head`); keep the interpreter from writing to it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def subcommands() -> list[str]:
    """The subcommands that exist: the modules beside this one."""
    return [module.name for module in pkgutil.iter_modules(bench_plugin.cli.__path__) if module.name != "main"]


def _top_parser(names: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench", description="Environments, results and reports of bench_plugin.", epilog=EPILOG
    )
    parser.add_argument("--version", action="version", version=f"bench {__version__}")
    group = parser.add_subparsers(metavar="COMMAND", required=True, help="bench COMMAND --help says more")
    for name in names:
        group.add_parser(name, help=_help_of(name))
    return parser


def _help_of(name: str) -> str:
    """The HELP of a subcommand, read without importing it."""
    path = Path(__file__).with_name(f"{name}.py")
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == "HELP" for to in node.targets):
            return str(ast.literal_eval(node.value))
    return ""


if __name__ == "__main__":
    sys.exit(main())
