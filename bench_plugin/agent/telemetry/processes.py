"""The processes and the cores that a series is about: the tree below the agent, and the cores that it may use."""

from __future__ import annotations

import os
from typing import Dict, List, Set

from bench_plugin.agent.telemetry.reader import said

LISTED = 1.0  # seconds between two looks for new processes where the kernel does not list the children of a process


class Tree:
    """A process and all that is below it, without the sampler itself."""

    def __init__(self, root: str, pid: int, without: int = 0) -> None:
        self._proc = os.path.join(root, "proc")
        self._pid = pid
        self._without = without
        self._direct = os.path.exists(os.path.join(self._proc, str(pid), "task", str(pid), "children"))
        self._listed: Dict[int, List[int]] = {}
        self._when = float("-inf")

    def folders(self, now: float) -> List[str]:
        """The folders in /proc of the processes at ``now``, in seconds of the monotonic clock."""
        if not self._direct and now - self._when >= LISTED:
            self._listed, self._when = self._all_children(), now
        found, pending, seen = [], [self._pid], {self._without}
        while pending:
            pid = pending.pop()
            if pid not in seen:
                seen.add(pid)
                found.append(os.path.join(self._proc, str(pid)))
                pending += self._children(pid) if self._direct else self._listed.get(pid, [])
        return found

    def _children(self, pid: int) -> List[int]:
        tasks = os.path.join(self._proc, str(pid), "task")
        found: List[int] = []
        try:
            threads = os.listdir(tasks)
        except OSError:  # it ended meanwhile
            return found
        for thread in threads:
            found += [int(child) for child in said(os.path.join(tasks, thread, "children")).split()]
        return found

    def _all_children(self) -> Dict[int, List[int]]:
        """The children of every process, from the parent that each one names: kernels without CONFIG_PROC_CHILDREN."""
        found: Dict[int, List[int]] = {}
        try:
            entries = os.listdir(self._proc)
        except OSError:  # a system without /proc
            return found
        for entry in entries:
            fields = said(os.path.join(self._proc, entry, "stat")).rpartition(")")[2].split() if entry.isdigit() else []
            if len(fields) > 1:
                found.setdefault(int(fields[1]), []).append(int(entry))
        return found


def cores_of(root: str, pid: int) -> Set[int]:
    """The numbers of the cores that a process may use; empty where /proc does not say it."""
    for line in said(os.path.join(root, "proc", str(pid), "status")).splitlines():
        if line.startswith("Cpus_allowed_list:"):
            return numbers_of(line.partition(":")[2])
    return set()


def numbers_of(listed: str) -> Set[int]:
    """The numbers of a list as the kernel writes it.

    >>> sorted(numbers_of("0-2,5"))
    [0, 1, 2, 5]
    """
    found: Set[int] = set()
    for part in listed.replace(" ", "").split(","):
        first, _, last = part.strip().partition("-")
        if first.isdigit() and (last or first).isdigit():
            found.update(range(int(first), int(last or first) + 1))
    return found
