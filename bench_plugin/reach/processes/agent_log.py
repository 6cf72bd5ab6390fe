"""The log of an agent, which holds whatever its process prints: bounded in size, and quoted when the agent is lost."""

from __future__ import annotations

import os
from pathlib import Path

CAP_BYTES = 64 << 20
HEAD_BYTES = 256 << 10
TAIL_BYTES = 256 << 10
QUOTED_LINES = 20
QUOTED_BYTES = 32 * 1024
LINE_CHARACTERS = 300
FATAL = "Fatal Python error: "  # how the report of faulthandler on a crash begins
BEFORE = 6  # lines that are quoted of what was printed before that report


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
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - QUOTED_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    start = next((place for place in reversed(range(len(lines))) if lines[place].startswith(FATAL)), len(lines))
    first = max(0, min(len(lines) - QUOTED_LINES, start - BEFORE))
    return "\n".join(line[:LINE_CHARACTERS] for line in lines[first : first + QUOTED_LINES])
