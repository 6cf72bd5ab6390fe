"""The resident memory of the descendants of a process, from /proc."""

from __future__ import annotations

import os

PAGE = os.sysconf("SC_PAGE_SIZE")


def resident_below(pid: int) -> int:
    """Bytes resident in the process tree below ``pid``, without ``pid``; a process that is gone counts 0."""
    total, pending = 0, _children(pid)
    while pending:
        process = pending.pop()
        try:
            with open(f"/proc/{process}/statm", "rb") as file:
                total += int(file.read().split()[1]) * PAGE
        except (OSError, IndexError):
            continue
        pending.extend(_children(process))
    return total


def _children(pid: int) -> list[int]:
    """The children of every thread of a process."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found.extend(int(child) for child in file.read().split())
    except OSError:  # it ended meanwhile
        return found
    return found
