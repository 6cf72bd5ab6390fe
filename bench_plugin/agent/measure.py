"""Time and memory of the process that does the work: both are measured, and memory that it freed is given back."""

from __future__ import annotations

import os
import time
from typing import Any, Callable, Optional

LEAST_BYTES = 64 << 20  # of freed memory: to give back less is not worth the time


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


class Heap:
    """The heap of this process.

    glibc keeps what other threads than the first one have freed, and what lies below a block that is in use: several
    gigabytes after the layers of one large model. An agent with a limit would die of what earlier calls have freed.
    """

    def __init__(self) -> None:
        self._least = 0  # the fewest bytes that have been resident since it was trimmed
        self._trim = _malloc_trim()

    def trim(self) -> None:
        """Give freed memory back, where 64 MiB more are resident than after the last time (malloc_trim(3)).

        Other C libraries than glibc, and systems without ``/proc``, are left as they are.
        """
        if self._trim is None:
            return
        now = resident()
        self._least = min(self._least, now)
        if now >= self._least + LEAST_BYTES:
            self._trim(0)
            self._least = resident()


def resident() -> int:
    """Bytes of this process that are in memory (proc(5), statm); 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def _malloc_trim() -> Optional[Callable[[int], Any]]:
    """The function of glibc, None where the C library has none."""
    try:
        import ctypes

        function = ctypes.CDLL(None).malloc_trim
    except (ImportError, OSError, AttributeError, TypeError):  # Python without libffi, another C library, Windows
        return None
    function.argtypes = [ctypes.c_size_t]
    return function
