"""The use of processors in percent: of the process tree (100 is one core), and of every core that it may use."""

from __future__ import annotations

import os
from typing import Dict, List, Mapping, Tuple

from bench_plugin.agent.telemetry.processes import Tree, cores_of
from bench_plugin.agent.telemetry.reader import Channel, said, text

PERIOD = 0.2  # seconds: the kernel counts in steps of 10 ms, which are 5 % of that
TICKS = os.sysconf("SC_CLK_TCK")
TIMES = slice(11, 15)  # of /proc/PID/stat behind the name: user, system, and those of children that it waited for
IDLE = (3, 4)  # of a line of /proc/stat: idle, and idle while something waits for a disk
ALL = 8  # its columns up to steal; guest time is in user time already
ACCURACY = "steps of %g ms of processor time in %g ms" % (1000 / TICKS, 1000 * PERIOD)


class TreeTime:
    """Processor time of the process tree."""

    period = PERIOD

    def __init__(self, root: str, tree: Tree, now: float) -> None:
        self._tree = tree
        self.ended: Dict[str, str] = {}
        self.channels: Mapping[str, Channel] = {}
        self._times = self._read(now)
        self._when = now
        if self._times:
            source = os.path.join(root, "proc", "*", "stat")
            self.channels = {"cpu": Channel("%", source, "process tree", 1 / PERIOD, ACCURACY)}

    def read(self, now: float) -> Dict[str, float]:
        """``cpu``: percent of one core since the last reading; more than 100 where several cores are at work."""
        if not self.channels or self.ended or now <= self._when:
            return {}
        times = self._read(now)
        if not times:
            self.ended["cpu"] = "the process is gone"
            return {}
        # A process that ends hands its time to the parent that waits for it. Where none waits, the sum falls.
        used = max(0.0, sum(times.values()) - sum(self._times.values()))
        found = {"cpu": 100.0 * used / TICKS / (now - self._when)}
        self._times, self._when = times, now
        return found

    def _read(self, now: float) -> Dict[str, int]:
        found = {}
        for folder in self._tree.folders(now):
            fields = said(os.path.join(folder, "stat")).rpartition(")")[2].split()  # a name may hold brackets
            if len(fields) >= TIMES.stop:
                found[folder] = sum(map(int, fields[TIMES]))
        return found


class CoreTime:
    """Processor time of every core that the process may use, whoever uses it."""

    period = PERIOD

    def __init__(self, root: str, pid: int, now: float) -> None:
        self._path = os.path.join(root, "proc", "stat")
        self._cores = cores_of(root, pid)
        self.ended: Dict[str, str] = {}
        self._times: Dict[str, Tuple[int, int]] = {}
        try:
            self._times = self._read()
        except OSError:  # a system without /proc has no such series
            self._times = {}
        self.channels: Mapping[str, Channel] = {
            name: Channel("%", self._path, name.partition(".")[2], 1 / PERIOD, ACCURACY) for name in self._times
        }

    def read(self, now: float) -> Dict[str, float]:
        """``cpu.core0`` ...: percent of the time since the last reading in which the core was not idle."""
        if not self.channels or len(self.ended) == len(self.channels):
            return {}
        times, found = self._read(), {}
        for name in self.channels:
            if name not in times:
                self.ended[name] = "%s: the core was taken offline" % self._path
                continue
            (idle, total), (idle_before, total_before) = times[name], self._times.get(name, times[name])
            if total > total_before:
                found[name] = 100.0 * min(1.0, max(0.0, 1 - (idle - idle_before) / (total - total_before)))
        self._times = times
        return found

    def _read(self) -> Dict[str, Tuple[int, int]]:
        """Idle and total time of every core, in ticks."""
        found = {}
        for line in text(self._path).splitlines():
            fields: List[str] = line.split()
            core = fields[0][3:] if fields and fields[0].startswith("cpu") else ""
            if core.isdigit() and (not self._cores or int(core) in self._cores):
                values = [int(field) for field in fields[1 : ALL + 1]]
                found["cpu.core%s" % core] = (sum(values[index] for index in IDLE if index < len(values)), sum(values))
        return found
