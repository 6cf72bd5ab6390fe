"""The processes of a listener: nothing that an agent started outlives it."""

from __future__ import annotations

import os
import signal
import time
from typing import Dict, List

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> bool:
    """Become the parent of what a child leaves behind (prctl(2)); returns whether the system can do that."""
    return _prctl(PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent() -> None:
    """Let the kernel end this process when its parent ends."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def kill_group(leader: int) -> None:
    """Kill a process and those of its group; one that has ended already is fine."""
    for kill, number in ((os.killpg, leader), (os.kill, leader)):
        try:
            kill(number, signal.SIGKILL)
        except ProcessLookupError:
            continue


def kill_children() -> None:
    """Kill all children of this process, and those that they leave behind, until there are none."""
    while True:
        found = children()
        for pid in found:
            kill_group(pid)
        reaped = reap()
        if not found and not reaped:
            return
        time.sleep(0.005)


def reap() -> Dict[int, int]:
    """The status, as of waitpid(2), of every child that has ended."""
    found: Dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if not pid:
            return found
        found[pid] = status


def children() -> List[int]:
    """The children of this process that have not been waited for."""
    own = str(os.getpid())
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name) as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[1] == own and fields[0] != "Z":
                found.append(int(name))
    return found


def _prctl(option: int, value: int) -> bool:
    try:
        import ctypes  # some small systems lack it

        return bool(ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False
