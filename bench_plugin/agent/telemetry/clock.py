"""The clock of every core that the process may use, in hertz: cpufreq, or else the megahertz of /proc/cpuinfo."""

from __future__ import annotations

import os
from typing import Dict, Mapping, Union

from bench_plugin.agent.telemetry.processes import cores_of
from bench_plugin.agent.telemetry.reader import Channel, Gauge, Gauges, numbered, text

PERIOD = 0.2  # seconds: on many cores the kernel interrupts each of them to read its clock


def clocks(root: str, pid: int) -> Union[Gauges, Told]:
    """The reader of ``clock.core0`` ...: of cpufreq where a core has it, else of /proc/cpuinfo."""
    cores, gauges = cores_of(root, pid), {}
    for core, folder in numbered(os.path.join(root, "sys/devices/system/cpu"), "cpu"):
        if not cores or core in cores:
            path = os.path.join(folder, "cpufreq", "scaling_cur_freq")
            gauges["clock.core%d" % core] = Gauge(Channel("Hz", path, "core%d" % core), path, 1e3)
    found = Gauges(gauges, PERIOD)
    return found if found.channels else Told(root, pid)


class Told:
    """The clocks that /proc/cpuinfo tells. Virtual machines and some kernels write a constant there."""

    period = PERIOD

    def __init__(self, root: str, pid: int) -> None:
        self._path = os.path.join(root, "proc", "cpuinfo")
        self._cores = cores_of(root, pid)
        self.ended: Dict[str, str] = {}
        try:
            names = list(self._read())
        except OSError:  # a system without /proc has no such series
            names = []
        self.channels: Mapping[str, Channel] = {
            name: Channel("Hz", self._path, name.partition(".")[2], None, "may be the nominal clock") for name in names
        }

    def read(self, now: float) -> Dict[str, float]:
        """``clock.core0`` ... in hertz."""
        if not self.channels or len(self.ended) == len(self.channels):
            return {}
        found = self._read()
        for name in self.channels:
            if name not in found:
                self.ended[name] = "%s: the core was taken offline" % self._path
        return found

    def _read(self) -> Dict[str, float]:
        found, core = {}, -1
        for line in text(self._path).splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "processor" and value.strip().isdigit():
                core = int(value)
            elif key.strip().lower() == "cpu mhz" and core >= 0 and (not self._cores or core in self._cores):
                found["clock.core%d" % core] = float(value) * 1e6
        return found
