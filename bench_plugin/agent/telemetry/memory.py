"""The resident memory of the process tree: RSS at every tick, and PSS where reading it is cheap."""

from __future__ import annotations

import os
import time
from typing import Dict, Mapping, Optional

from bench_plugin.agent.telemetry.processes import Tree
from bench_plugin.agent.telemetry.reader import Channel, said

PAGE = os.sysconf("SC_PAGE_SIZE")
PSS_PERIOD = 1.0  # seconds
CHEAP = 0.002  # seconds; the kernel holds the lock of the process' memory map while it adds up PSS


class Resident:
    """The sum of the resident pages of all processes, in which shared pages count once for each of them."""

    period = 0.0

    def __init__(self, root: str, tree: Tree, now: float) -> None:
        self._tree = tree
        self.ended: Dict[str, str] = {}
        channel = Channel("B", os.path.join(root, "proc", "*", "statm"), "process tree", None, "whole pages")
        self.channels: Mapping[str, Channel] = {"memory.rss": channel} if self._read(now) is not None else {}

    def read(self, now: float) -> Dict[str, float]:
        """``memory.rss`` in bytes."""
        if not self.channels or self.ended:
            return {}
        value = self._read(now)
        if value is None:
            self.ended["memory.rss"] = "the process is gone"
            return {}
        return {"memory.rss": value}

    def _read(self, now: float) -> Optional[float]:
        pages = [said(os.path.join(folder, "statm")).split() for folder in self._tree.folders(now)]
        counts = [int(fields[1]) for fields in pages if len(fields) > 1]
        return float(sum(counts) * PAGE) if counts else None


class Proportional:
    """The sum of the proportional set sizes, in which a page that n processes share counts 1/n for each."""

    period = PSS_PERIOD

    def __init__(self, root: str, tree: Tree, now: float) -> None:
        self._tree = tree
        self.ended: Dict[str, str] = {}
        began = time.monotonic()
        there = self._read(now) is not None
        cheap = time.monotonic() - began < CHEAP
        source = os.path.join(root, "proc", "*", "smaps_rollup")
        channel = Channel("B", source, "process tree", 1 / PSS_PERIOD, "whole kibibytes")
        self.channels: Mapping[str, Channel] = {"memory.pss": channel} if there and cheap else {}

    def read(self, now: float) -> Dict[str, float]:
        """``memory.pss`` in bytes."""
        if not self.channels or self.ended:
            return {}
        value = self._read(now)
        if value is None:
            self.ended["memory.pss"] = "the process is gone"
            return {}
        return {"memory.pss": value}

    def _read(self, now: float) -> Optional[float]:
        found = []
        for folder in self._tree.folders(now):
            lines = said(os.path.join(folder, "smaps_rollup")).splitlines()
            found += [int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")]
        return float(sum(found)) if found else None
