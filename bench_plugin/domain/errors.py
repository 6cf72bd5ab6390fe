"""The errors that a person can fix, each with its exit code."""

from __future__ import annotations


class BenchError(Exception):
    """Base of the errors that end in a message instead of a traceback."""

    exit_code = 3


class UsageError(BenchError):
    """A wrong option, file or value: the message says what is wrong, where, and what would be right."""

    exit_code = 2


class EnvironmentMissing(BenchError):
    """A toolchain, interpreter or tool is absent: the message says how to get it."""

    exit_code = 4
