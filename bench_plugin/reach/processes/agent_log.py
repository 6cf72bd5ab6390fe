"""The log of an agent, which holds whatever its process prints: bounded in size, and quoted when the agent is lost."""

from __future__ import annotations

import os
import re
from pathlib import Path

CAP_BYTES = 64 << 20
HEAD_BYTES = 256 << 10
TAIL_BYTES = 256 << 10
QUOTED_LINES = 20
QUOTED_BYTES = 32 * 1024
LINE_CHARACTERS = 300
FATAL = "Fatal Python error: "  # how the report of faulthandler on a crash begins
BEFORE = 6  # lines that are quoted of what was printed before that report
PANIC = re.compile(r"thread '.*' (\(\d+\) )?panicked at ")  # of Rust; what is wrong is in the next line
NO_CAUSE = "panic in a function that cannot unwind"  # of Rust: why it aborts on a panic that was told before
# Of C++ exceptions, glibc's checks of its heap, and assertions.
ABORTS = re.compile(
    r"""
    \s* what\(\): \s* (?P<what>\S.*)
  | (?P<heap> (?: double\ free | (?:free|malloc\w*|realloc|munmap_chunk)\(\) | corrupted\ ) .*)
  | (?P<check> .*\b (?:Assertion|Check) \b.*\ failed\b.*)
    """,
    re.VERBOSE,
)


def bound_log(log: Path) -> None:
    """Cut a log of more than CAP_BYTES to its beginning and its end; a line between them says how much is left out.

    The agent appends to the file, so it goes on at the new end. What it prints while the file is cut can be lost.
    """
    try:
        if log.stat().st_size <= CAP_BYTES:
            return
        with log.open("r+b", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            tail = os.pread(file.fileno(), TAIL_BYTES, size - TAIL_BYTES)
            left_out = size - HEAD_BYTES - len(tail)
            file.truncate(HEAD_BYTES)
        with log.open("ab", buffering=0) as file:
            file.write(f"\n... {left_out} bytes left out: a log has at most {CAP_BYTES} bytes ...\n".encode() + tail)
    except OSError:
        return  # a log that cannot be cut is no reason to end the call


def quoted(log: Path) -> str:
    """The last lines of a log, each cut to a bounded length; empty where it cannot be read.

    Of a process that crashed it is the beginning of the report on the crash, whose first frame says where that was.
    """
    lines = _last_lines(log)
    start = _report(lines)
    first = max(0, min(len(lines) - QUOTED_LINES, start - BEFORE))
    return "\n".join(line[:LINE_CHARACTERS] for line in lines[first : first + QUOTED_LINES])


def printed(log: Path) -> int:
    """How many bytes a log has; 0 where it cannot be read."""
    try:
        return log.stat().st_size
    except OSError:
        return 0


def last_words(log: Path, since: int) -> str:
    """What a process that aborted said of the cause: a panic, a C++ exception, an assertion; or nothing.

    That stands before the report on the crash. Only what was printed after the first ``since`` bytes counts.
    """
    lines = _last_lines(log, since)
    lines = lines[: _report(lines)]
    for place in reversed(range(len(lines))):
        after = lines[place + 1].strip() if place + 1 < len(lines) else ""
        if PANIC.match(lines[place]) and after and after != NO_CAUSE:
            return after[:LINE_CHARACTERS]
        found = ABORTS.match(lines[place])
        if found:
            return (found["what"] or found["heap"] or found["check"]).strip()[:LINE_CHARACTERS]
    return ""


def _last_lines(log: Path, since: int = 0) -> list[str]:
    """The lines of the last QUOTED_BYTES of a log after its first ``since`` bytes; none where it cannot be read."""
    try:
        with log.open("rb") as file:
            file.seek(max(since, log.stat().st_size - QUOTED_BYTES))
            return file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _report(lines: list[str]) -> int:
    """Where the report on a crash begins; behind the last line where there is none."""
    return next((place for place in reversed(range(len(lines))) if lines[place].startswith(FATAL)), len(lines))
