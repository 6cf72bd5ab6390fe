"""The resident memory of a process and its descendants, from /proc."""

from __future__ import annotations

import os

PAGE = os.sysconf("SC_PAGE_SIZE")


def resident(pid: int) -> int:
    """Bytes resident in the process tree below and including ``pid``; a process that is gone counts 0."""
    total, pending = 0, [pid]
    while pending:
        process = pending.pop()
        try:
            with open(f"/proc/{process}/statm", "rb") as file:
                total += int(file.read().split()[1]) * PAGE
            for thread in os.listdir(f"/proc/{process}/task"):
                with open(f"/proc/{process}/task/{thread}/children", "rb") as file:
                    pending.extend(int(child) for child in file.read().split())
        except (OSError, IndexError):
            continue
    return total
