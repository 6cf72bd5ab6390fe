"""A tree of plain files that looks like /proc and /sys, for the readers of sensors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PID = 100
STAT = "{pid} (name (with) brackets) S {parent} 1 1 0 -1 0 0 0 0 0 {user} {system} {cuser} {csystem} 20 0 1 0 5 0 0"


def write(root: Path, files: Mapping[str, str]) -> None:
    """Write the texts of ``files`` below ``root``."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.partial")
        partial.write_text(text + "\n", "utf-8")
        partial.replace(path)  # a sampler that reads meanwhile sees the old text or the new one, as in sysfs


def process(
    root: Path, pid: int = PID, *, parent: int = 1, children: str | None = "", ticks: int = 0, reaped: int = 0,
    pages: int = 0, pss: int | None = None, cores: str = "0-1",
) -> None:  # fmt: skip
    """Write the folder of a process; ``ticks`` of its own time, ``reaped`` of children that it waited for."""
    times = {"user": ticks // 2, "system": ticks - ticks // 2, "cuser": reaped, "csystem": 0}
    folder = f"proc/{pid}"
    files = {
        f"{folder}/stat": STAT.format(pid=pid, parent=parent, **times),
        f"{folder}/statm": f"9999 {pages} 10 1 0 1 0",
        f"{folder}/status": f"Name:\tx\nThreads:\t3\nCpus_allowed_list:\t{cores}",
    }
    if children is not None:
        files[f"{folder}/task/{pid}/children"] = children
    if pss is not None:
        files[f"{folder}/smaps_rollup"] = f"Rss: 1 kB\nPss:                {pss} kB\nPss_Anon: 7 kB"
    write(root, files)


def cores(root: Path, *busy: tuple[int, int]) -> None:
    """Write /proc/stat with the busy and the idle ticks of every core."""
    lines = ["cpu  1 2 3 4 5 6 7 8 9 9"]
    lines += [f"cpu{index} {used} 0 0 {idle} 0 0 0 0 0 0" for index, (used, idle) in enumerate(busy)]
    write(root, {"proc/stat": "\n".join([*lines, "intr 5"])})
