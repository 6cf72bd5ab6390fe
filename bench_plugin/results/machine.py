"""What a run ran on: the machine's facts and the commit of the project."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """What the run ran on."""
    facts: dict[str, Any] = {
        "architecture": platform.machine(),
        "system": platform.system(),
        "kernel": platform.release(),
    }
    facts["cpus"] = len(os.sched_getaffinity(0))
    facts.update(_proc_facts())
    facts["libc"] = " ".join(platform.libc_ver())
    return facts


def _proc_facts() -> Iterator[tuple[str, Any]]:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            yield "cpu", line.partition(":")[2].strip()
            break
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemTotal"):
            yield "memory_gb", round(int(line.split()[1]) / 2**20, 1)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text("utf-8").splitlines()
    except OSError:
        return []


def commit(root: Path) -> str:
    """What git calls the state of ``root``; empty where git does not know it."""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
