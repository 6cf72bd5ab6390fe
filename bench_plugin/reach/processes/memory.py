"""Memory and processor time of the descendants of a process, and processes killed for want of memory, from /proc."""

from __future__ import annotations

import os

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")  # of processor time per second
TIMES = slice(11, 15)  # user and system time, its own and that of children that it waited for, behind name and state


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


def processor_seconds_below(pid: int) -> float:
    """Seconds of processor time of the process tree below ``pid``, also of processes that ended and were waited for.

    Those that ended and that ``pid`` itself waited for are a part of it, ``pid`` is not.
    """
    total, pending = _ticks(pid)[1], _children(pid)
    while pending:
        process = pending.pop()
        total += sum(_ticks(process))
        pending.extend(_children(process))
    return total / TICKS


def memory_kills() -> int:
    """How many processes the kernel of this machine has killed because memory ran out; 0 where it does not say."""
    try:
        with open("/proc/vmstat", "rb") as file:
            counters = dict(line.split() for line in file)
    except OSError:
        return 0
    return int(counters.get(b"oom_kill", 0))


def _ticks(pid: int) -> tuple[int, int]:
    """Processor time of a process, and of the children that it waited for; 0 for one that is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # a name may hold spaces and brackets
        user, system, of_children, system_of_children = map(int, fields[TIMES])
    except (OSError, ValueError):
        return 0, 0
    return user + system, of_children + system_of_children


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
