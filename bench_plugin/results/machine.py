"""The machine of a run in short, and the commit of the project."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def machine(state: Mapping[str, Any]) -> dict[str, Any]:
    """What stays the same of a machine, from its ``state`` (agent/telemetry/machine.py), for the heads of pages.

    ``cpus`` counts the usable cores, ``memory_gb`` is in GiB. What cannot be known is absent.
    """
    facts = {key: state[key] for key in ("architecture", "system", "kernel", "cpu", "libc") if key in state}
    if "cores" in state:
        facts["cpus"] = len(state["cores"])
    if "memory_bytes" in state:
        facts["memory_gb"] = round(state["memory_bytes"] / 2**30, 1)
    return facts


def commit(root: Path) -> str:
    """The commit of ``root`` as ``git describe`` prints it; empty where it is not a git checkout."""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
