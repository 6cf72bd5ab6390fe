"""docs/cli.md: every subcommand of ``bench`` with its arguments, from the parsers that read them."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

import examples
from wording import cell, meaning

from bench_plugin.cli.main import ALIASES, parser_of, subcommands

HEAD = """\
# Commands: `bench`

This page is made from the parsers that read the command line: `python docs/write_reference`. `bench COMMAND --help`
prints the same. The examples are lines of these documents, which a test executes; a key (`3fa94c0d11ee`) and the id
of a run (`20261120-204952-1a2b3c`) stand for your own.

Every command looks for the configuration in the nearest folder upwards from where it is started, which has a
`bench.toml` or a table `[tool.bench_plugin]` in its `pyproject.toml`.

| exit code | means |
|---|---|
| 0 | it is fine |
| 1 | a finding, such as a cell that failed or changed |
| 2 | the command line or a file is wrong; the message says what would be right |
| 3 | it cannot say |
| 4 | something is missing in the environment; the message says how to get it |

With `--json`, where there is one, data goes to standard output as JSON and everything else to standard error.
"""
# Defaults that differ from machine to machine.
OF_THE_MACHINE = {"--max-memory": "nine tenths of the machine's memory", "--python": "this one"}


def page() -> str:
    """The page as Markdown."""
    return HEAD + "".join(part for name in subcommands() for part in _command(name))


def _command(name: str) -> Iterator[str]:
    parser = parser_of(name)
    yield f"\n## bench {name}\n"
    yield from _parser(parser, also=[alias for alias, meant in ALIASES.items() if meant == name])
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below, inner in action.choices.items():
                yield f"\n### bench {name} {below}\n"
                yield from _parser(inner)


def _parser(parser: argparse.ArgumentParser, also: list[str] | None = None) -> Iterator[str]:
    """What a command does, its form, its arguments and examples."""
    text = (parser.description or "").replace("``", "`").strip()
    yield f"\n{text[:1].upper()}{text[1:].rstrip('.')}.\n"
    if also:
        yield f"It is also called {' and '.join(f'`bench {alias}`' for alias in also)}.\n"
    arguments = [one for one in parser._actions if one.help != argparse.SUPPRESS and "--help" not in one.option_strings]
    yield f"\n`{_form(parser, arguments)}`\n"
    rows = [_row(one) for one in arguments if not isinstance(one, argparse._SubParsersAction)]
    if rows:
        yield "\n| argument | default | meaning |\n|---|---|---|\n" + "".join(f"{row}\n" for row in rows)
    if not _actions(arguments) and (found := examples.of_command(parser.prog.split())):
        yield "\n```sh\n" + "".join(f"{shlex.join(words)}\n" for words in found) + "```\n"


def _actions(arguments: list[argparse.Action]) -> bool:
    return any(isinstance(one, argparse._SubParsersAction) for one in arguments)


def _form(parser: argparse.ArgumentParser, arguments: list[argparse.Action]) -> str:
    words = [_shape(one) for one in arguments if not one.option_strings]
    options = ["[OPTIONS]"] if any(one.option_strings for one in arguments) else []
    return " ".join([parser.prog, *options, *words])


def _shape(action: argparse.Action) -> str:
    """A positional argument as a line of help writes it."""
    if isinstance(action, argparse._SubParsersAction):
        return "ACTION …"
    name = str(action.metavar or action.dest).upper()
    return {"?": f"[{name}]", "*": f"[{name} …]", "+": f"{name} …"}.get(str(action.nargs), name)


def _row(action: argparse.Action) -> str:
    shown = next((OF_THE_MACHINE[name] for name in action.option_strings if name in OF_THE_MACHINE), "")
    text, default = meaning(action.help or "", action.default, shown)
    if action.choices is not None:
        text += f": {', '.join(f'`{one}`' for one in action.choices)}"
    if isinstance(action, argparse._AppendAction) and "repeated" not in text:
        text += "; may be repeated"
    if action.required and action.option_strings:
        default = "must be given"
    value = "" if action.nargs == 0 else f" {action.metavar or str(action.dest).upper()}"
    named = ", ".join(f"`{name}{value}`" for name in action.option_strings) or f"`{_shape(action)}`"
    return f"| {named.replace('|', chr(92) + '|')} | {cell(default)} | {cell(text)} |"
