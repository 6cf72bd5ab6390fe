"""How much memory this machine has, and has left, for processes of this one: the control group counts, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path("/")
UNKNOWN_BYTES = 4 * 2**30  # of a system without /proc


class MachineMemory(NamedTuple):
    """Bytes ``in_all``, and those that are ``available`` without swapping."""

    in_all: int
    available: int


def machine_memory(root: Path = ROOT) -> MachineMemory:
    """The memory of the machine (proc(5), /proc/meminfo), or of a control group that has less, such as a container's.

    Files that the kernel keeps and does not use count as available. ``root`` is where ``proc`` and ``sys`` are.
    """
    fields = dict(_fields(root / "proc" / "meminfo"))
    in_all, available = fields.get("MemTotal:", UNKNOWN_BYTES), fields.get("MemAvailable:", UNKNOWN_BYTES)
    for limit, used in _groups(root):
        in_all, available = min(in_all, limit), min(available, max(limit - used, 0))
    return MachineMemory(in_all, available)


def _groups(root: Path) -> Iterator[tuple[int, int]]:
    """(limit, used) in bytes of the control groups of this process that have a limit, those above it included."""
    groups = root / "sys" / "fs" / "cgroup"
    for line in _text(root / "proc" / "self" / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:  # cgroups(7), version 2
            yield from _limits(groups, path, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            yield from _limits(
                groups / "memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
            )


def _limits(mount: Path, path: str, limit: str, used: str, unused: str) -> Iterator[tuple[int, int]]:
    """Of the group ``path`` below ``mount`` and those above it; in a container the mount is its own group."""
    inner = mount / path.strip("/")
    for folder in (inner, *inner.parents):
        most, now = _text(folder / limit).strip(), _text(folder / used).strip()
        if most.isdigit() and now.isdigit():  # "max" where there is none
            yield int(most), int(now) - dict(_fields(folder / "memory.stat")).get(unused, 0)
        if folder == mount:
            return


def _fields(path: Path) -> Iterator[tuple[str, int]]:
    """The names and numbers of a file of the kernel; those with the unit kB in bytes."""
    for line in _text(path).splitlines():
        name, *rest = line.split()
        if rest and rest[0].isdigit():
            yield name, int(rest[0]) * (1024 if rest[1:] == ["kB"] else 1)


def _text(path: Path) -> str:
    """The text of a file; nothing where it is not there or cannot be read."""
    try:
        return path.read_text("ascii", "replace")
    except OSError:
        return ""
