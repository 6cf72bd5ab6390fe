"""Examples of commands and options: those lines of README and docs/ that tests/docs executes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from tests.docs.fences import BOARDS, all_fences, commands, fences

MOST = 3  # examples of a command


@cache
def executed() -> tuple[tuple[str, ...], ...]:
    """The words of every command line of ours in a fence that a test executes, without repeats, shortest first."""
    found = [*all_fences(), *fences(BOARDS)]
    lines = [command.words for fence in found if fence.language == "sh" and not fence.excuse
             for command in commands(fence)]  # fmt: skip
    ours = dict.fromkeys(words for words in lines if words[0] in ("bench", "pytest"))
    return tuple(sorted(ours, key=lambda words: (len(" ".join(words)), words)))


def of_command(words: Sequence[str]) -> list[tuple[str, ...]]:
    """The shortest examples that begin with these words."""
    return [line for line in executed() if line[: len(words)] == tuple(words)][:MOST]


def of_option(*names: str) -> tuple[str, ...]:
    """The shortest command line of pytest with one of these options; empty where no document shows one."""
    found = (line for line in executed() if line[0] == "pytest")
    return next((line for line in found if any(word.partition("=")[0] in names for word in line)), ())
