"""docs/options.md: every option that the plugin adds to pytest, from the function that registers them."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from typing import Any

import examples
from wording import cell, meaning

from bench_plugin import options
from bench_plugin.domain.axes import OPTIONS

HEAD = """\
# Options of pytest

This page is made from the table of options: `python docs/write_reference`. `pytest --help` prints the same under
"bench". The examples are lines of these documents, which a test executes. Where an option has a key of the same name
in the [configuration](configuration.md#configuration), the option wins.

An option takes one value; several are separated by commas where the table writes `A,B`. The short names
(`--models`) are left out where another plugin of pytest has them: `--bench-models` is always there.
"""
SHORT = {axis.option: f"--{axis.plural}" for axis in OPTIONS if axis.short}
CHOOSING = {axis.option for axis in OPTIONS} | {"--bench-profile", "--bench-onnx", "--bench-inputs"}


class Recorder:
    """Takes the place of pytest's parser and of a group of it; keeps what is registered."""

    def __init__(self) -> None:
        self.found: list[tuple[str, dict[str, Any]]] = []

    def getgroup(self, *words: str) -> Recorder:
        """The group, which is the same object."""
        return self

    def addoption(self, name: str, **said: Any) -> None:
        """Keep an option."""
        if said.get("help") != argparse.SUPPRESS:
            self.found.append((name, said))


def registered() -> list[tuple[str, dict[str, Any]]]:
    """Every option by its long name, with what pytest's parser is told of it."""
    recorder = Recorder()
    options.add_options(recorder)  # type: ignore[arg-type]
    return recorder.found


def page() -> str:
    """The page as Markdown."""
    found = registered()
    choosing = [one for one in found if one[0] in CHOOSING]
    others = [one for one in found if one[0] not in CHOOSING]
    return "".join([HEAD, *_section("What is run", choosing), *_section("How it is run", others)])


def _section(heading: str, found: list[tuple[str, dict[str, Any]]]) -> Iterator[str]:
    yield f"\n## {heading}\n\n| option | default | meaning | example |\n|---|---|---|---|\n"
    for name, said in found:
        names = [name, *([SHORT[name]] if name in SHORT else [])]
        value = f" {said['metavar']}" if "metavar" in said else ""
        text, default = meaning(said["help"].replace("%", "%%"), said.get("default"))
        if said.get("action") == "store_true":
            default = "off"
        line = examples.of_option(*names)
        shown = f"`{shlex.join(line)}`" if line else ""
        yield (
            f"| {', '.join(f'`{one}{value}`' for one in names)} | {cell(default or _without(name))} "
            f"| {cell(text.removesuffix(' (comma-separated)'))} | {shown} |\n"
        )


def _without(name: str) -> str:
    """What holds where an option is not given, and its help does not say it."""
    return "what the profile says" if name in CHOOSING and name.removeprefix("--bench-") in PLURALS else "none"


PLURALS = {axis.plural for axis in OPTIONS}
