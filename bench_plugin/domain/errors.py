"""The errors that a user can fix, each with its exit code."""

from __future__ import annotations

import sys


class BenchError(Exception):
    """Base of the errors that end in a message instead of a traceback."""

    exit_code = 3


class UsageError(BenchError):
    """A wrong option, file or value: the message says what is wrong, where, and what would be right."""

    exit_code = 2


class EnvironmentMissing(BenchError):
    """A toolchain, interpreter or tool is missing: the message says how to get it."""

    exit_code = 4


ONLY_LINUX = (
    "this needs Linux (agents are watched and ended by its process interfaces: /proc, prctl, file locks), and this is "
    "{}; use a Linux machine, a container, or WSL on Windows"
)


def on_linux() -> bool:
    """Whether this system has what agents are run with."""
    return sys.platform == "linux"


def require_linux() -> None:
    """Called before anything is imported that other systems do not have. Raises UsageError on them."""
    if not on_linux():
        raise UsageError(ONLY_LINUX.format(sys.platform))
