"""The command ``bench``: finds the subcommand's module, runs it, turns errors that a person can fix into messages."""

from __future__ import annotations

import argparse
import ast
import importlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, cast

from bench_plugin import __version__
from bench_plugin.cli.shared.arguments import EXIT_CODES
from bench_plugin.domain.errors import ONLY_LINUX, BenchError, on_linux, require_linux
from bench_plugin.domain.texts.masking import masked, readable

ALIASES = {"localize": "localise", "diff": "compare"}
SHARED = "shared"  # the folder of what subcommands share
COMPLETING = "_ARGCOMPLETE"  # set by the script of ``bench completion`` while the shell asks for completions


class Subcommand(Protocol):
    """What the module of a subcommand offers; it stands in one of the folders beside this file."""

    HELP: str

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Declare the subcommand's options."""

    @staticmethod
    def run(args: argparse.Namespace) -> int:
        """Do it; returns the exit code."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``bench`` with ``argv`` (the process's own by default); returns the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name in a file may be no text that a terminal shows
    arguments = list(sys.argv[1:] if argv is None else argv)
    names = subcommands()
    if COMPLETING in os.environ and on_linux():
        _complete(names)
    name = ALIASES.get(arguments[0], arguments[0]) if arguments else ""
    if name not in names:
        _top_parser(names).parse_args(arguments)
        return 2
    try:
        require_linux()
        parser = parser_of(name)
        code = _module(name).run(parser.parse_args(arguments[1:]))
        sys.stdout.flush()
        return code
    except BenchError as error:
        print(f"bench {name}: {masked(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output left (`bench ... | head`); keep the interpreter from writing to it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.filename is None:
            raise
        print(f"bench {name}: {readable(str(error.filename))}: {error.strerror}", file=sys.stderr)
        return BenchError.exit_code


def subcommands() -> list[str]:
    """The subcommands that exist: the modules in the folders beside this file, other than the shared ones."""
    return sorted(_places())


def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser of a subcommand with all its arguments; it imports the subcommand's module."""
    module = _module(name)
    parser = argparse.ArgumentParser(prog=f"bench {name}", description=module.HELP, epilog=EXIT_CODES)
    module.add_arguments(parser)
    return parser


def _places() -> dict[str, Path]:
    """The file of every subcommand by its name."""
    folder = Path(__file__).parent
    files = [path for path in folder.glob("*/*.py") if path.parent.name != SHARED and path.stem != "__init__"]
    return {path.stem: path for path in files}


def _module(name: str) -> Subcommand:
    group = _places()[name].parent.name
    return cast(Subcommand, importlib.import_module(f"bench_plugin.cli.{group}.{name}"))


def _top_parser(names: Sequence[str], *, filled: str = "") -> argparse.ArgumentParser:
    """The parser of ``bench`` itself; of the subcommand ``filled`` it knows the arguments too."""
    about = "Environments, results and reports of bench_plugin."
    if not on_linux():
        about += f" Every command: {ONLY_LINUX.format(sys.platform)}."
    parser = argparse.ArgumentParser(prog="bench", description=about, epilog=EXIT_CODES)
    parser.add_argument("--version", action="version", version=f"bench {__version__}")
    group = parser.add_subparsers(metavar="COMMAND", required=True, help="bench COMMAND --help says more")
    for name in names:
        aliases = [alias for alias, meant in ALIASES.items() if meant == name]
        added = group.add_parser(name, help=_help_of(name), aliases=aliases)
        if name == filled:
            _module(name).add_arguments(added)
    return parser


def _complete(names: Sequence[str]) -> None:
    """Answer the shell, which put its line into the environment, and exit; only one subcommand's module is imported."""
    import argcomplete

    words = os.environ.get("COMP_LINE", "").split()
    name = words[1] if len(words) > 1 else ""
    argcomplete.autocomplete(_top_parser(names, filled=ALIASES.get(name, name)))


def _help_of(name: str) -> str:
    """The HELP of a subcommand, read without importing it."""
    for node in ast.parse(_places()[name].read_bytes()).body:
        if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == "HELP" for to in node.targets):
            return str(ast.literal_eval(node.value))
    return ""


if __name__ == "__main__":
    sys.exit(main())
