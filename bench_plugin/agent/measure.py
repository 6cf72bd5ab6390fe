"""Measurement of time and memory, in the process that does the work."""

from __future__ import annotations

import time


class PeakMemory:
    """The peak of resident memory of this process since ``reset``, in bytes; 0 where the kernel does not report it."""

    def reset(self) -> None:
        """Start a new peak (Linux: proc(5), ``clear_refs``, value 5)."""
        try:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
        except OSError:
            return  # a kernel without it reports the peak since the start of the process

    def read(self) -> int:
        """The peak in bytes (proc(5), VmHWM)."""
        try:
            with open("/proc/self/status") as file:
                for line in file:
                    if line.startswith("VmHWM:"):
                        return int(line.split()[1]) * 1024
        except OSError:
            return 0
        return 0


class Stopwatch:
    """Seconds per announced stage, by the monotonic nanosecond clock."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._name = ""
        self._since = time.monotonic_ns()

    def stage(self, name: str) -> None:
        """End the current stage and begin ``name``."""
        self.stop()
        self._name = name

    def stop(self) -> None:
        """End the current stage."""
        now = time.monotonic_ns()
        if self._name:
            self.seconds[self._name] = self.seconds.get(self._name, 0.0) + (now - self._since) / 1e9
        self._since = now
        self._name = ""
