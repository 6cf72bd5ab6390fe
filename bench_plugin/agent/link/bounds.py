"""What a host may use of a board: time, memory, bytes stored and sent. Each of them has a default and an option."""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import resource
import signal
import time
from typing import Any, Dict, Optional

from bench_plugin.agent.channel import Pace

MIB = 1 << 20
MEMORY_SHARE = 0.9  # of the machine's memory: what a process may take, unless it is said otherwise


@dataclasses.dataclass(frozen=True)
class Bounds:
    """The bounds of a host that a listener admits.

    ``idle`` and ``call`` are seconds: without a request, and of one request. ``frame``, ``store`` and ``memory`` are
    MiB: of one frame, of all stored content, and of the memory that a process may take. ``cpu`` is seconds of processor
    time of each process. ``rate`` is the least KiB per second at which frames move, and ``pause`` the seconds that a
    frame may take beyond that. 0 is no bound.
    """

    idle: float = 600.0
    call: float = 3600.0
    frame: int = 2048
    store: int = 8192
    memory: int = 0
    cpu: int = 21600
    rate: float = 16.0
    pause: float = 10.0

    def pace(self) -> Optional[Pace]:
        """How slowly a frame may move; None for no bound."""
        return Pace(self.pause, self.rate * 1024) if self.rate else None

    def limit_process(self) -> None:
        """Limit this process and what it starts. Raises ValueError where the system allows no such limit."""
        if self.memory:
            resource.setrlimit(resource.RLIMIT_DATA, (self.memory * MIB, self.memory * MIB))
        if self.cpu:
            resource.setrlimit(resource.RLIMIT_CPU, (self.cpu, self.cpu + 1))  # SIGXCPU, and then SIGKILL
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


UNBOUNDED = Bounds(idle=0, call=0, frame=0, store=0)  # of the host that started the agent itself


class Alarm:
    """Ends this process by SIGALRM when a request takes too long, also in native code that never returns."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._margin = min(1.0, seconds / 8)  # it may come so much earlier, so that it is not set for each request
        self._set_at = -math.inf
        if seconds:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def begin(self) -> None:
        """A request begins."""
        now = time.monotonic()
        if self._seconds and now - self._set_at > self._margin:
            signal.setitimer(signal.ITIMER_REAL, self._seconds)
            self._set_at = now

    def rest(self) -> None:
        """There is no request now."""
        if self._set_at != -math.inf:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self._set_at = -math.inf


OPTIONS = {
    "idle": ("SECONDS", "give the board free when the host asks nothing for so long"),
    "call": ("SECONDS", "end the agent when one request takes longer"),
    "frame": ("MIB", "the largest frame"),
    "store": ("MIB", "the most that is stored of what hosts send; the least recently used content goes first"),
    "memory": ("MIB", "the most memory of a process of the agent (RLIMIT_DATA); 0 for no limit"),
    "cpu": ("SECONDS", "the most processor time of a process of the agent (RLIMIT_CPU); 0 for no limit"),
    "rate": ("KIB", "the least KiB per second that a host sends and takes; 0 for no limit"),
    "pause": ("SECONDS", "how much longer than at that rate a frame may take"),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """An option for each bound."""
    for field in dataclasses.fields(Bounds):
        metavar, text = OPTIONS[field.name]
        default = _memory() if field.name == "memory" else field.default
        kind: Any = int if isinstance(field.default, int) else float
        parser.add_argument(
            "--max-" + field.name if field.name != "rate" else "--min-rate", dest="bound_" + field.name, type=kind,
            default=default, metavar=metavar, help=text + " (default %(default)s)",
        )  # fmt: skip


def _memory() -> int:
    """The usual limit of memory in MiB."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 0
    return int(total * MEMORY_SHARE) // MIB


def from_options(options: argparse.Namespace) -> Bounds:
    """The bounds that were asked for."""
    given: Dict[str, Any] = {
        field.name: getattr(options, "bound_" + field.name) for field in dataclasses.fields(Bounds)
    }
    return Bounds(**given)
