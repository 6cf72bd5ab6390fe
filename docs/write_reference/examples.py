"""Examples of commands and options: lines of README and docs/, which tests/docs executes where they can run here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from bench_plugin.cli.main import ALIASES
from tests.docs.fences import BOARDS, all_fences, commands, fences

MOST = 3  # examples of a command


@cache
def shown() -> tuple[tuple[str, ...], ...]:
    """The words of every command line of ours without repeats: those that a test executes first, then shortest first.

    What cannot run here, such as a command for a cluster, comes last.
    """
    found = [fence for fence in (*all_fences(), *fences(BOARDS)) if fence.language == "sh"]
    lines = [(bool(fence.excuse), command.words) for fence in found for command in commands(fence)]
    ours = [(excused, words) for excused, words in lines if words[0] in ("bench", "pytest")]
    return tuple(dict.fromkeys(words for _, words in sorted(ours, key=_length)))


def _length(line: tuple[bool, tuple[str, ...]]) -> tuple[bool, int, tuple[str, ...]]:
    excused, words = line
    return excused, len(" ".join(words)), words


def of_command(words: Sequence[str]) -> list[tuple[str, ...]]:
    """The shortest examples that begin with these words, or with another name of the command."""
    program, name, *action = words
    names = {name, *(alias for alias, meant in ALIASES.items() if meant == name)}
    length = len(words)
    fitting = [line for line in shown() if line[:1] == (program,) and line[1:2] and line[1] in names]
    return [line for line in fitting if [*line[2:length]] == action][:MOST]


def of_option(*names: str) -> tuple[str, ...]:
    """The shortest command line of pytest with one of these options; empty where no document shows one."""
    found = (line for line in shown() if line[0] == "pytest")
    return next((line for line in found if any(word.partition("=")[0] in names for word in line)), ())
