"""The places of a pool of agents, one for each toolchain and role; idle agents end where memory is short."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench_plugin.reach.machine_memory import machine_memory
from bench_plugin.reach.processes.leased_agent import LeasedAgent


@dataclass
class Place:
    """The agent of one toolchain and role, with the lock that a lease holds.

    ``used`` is when the last lease ended, or when the agent was prepared after it (time.monotonic).
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    agent: LeasedAgent | None = None
    affinity: str = ""
    toolchain: str = ""
    board: str = ""
    used: float = field(default_factory=time.monotonic)

    def end(self) -> None:
        """End the agent, if there is one. The caller holds the lock."""
        if self.agent is not None:
            self.agent.close()
            self.agent = None


@dataclass(frozen=True)
class Room:
    """When idle agents end: while less than this ``share`` of the memory is available, after ``seconds`` without use.

    Agents of a dozen toolchains keep a gigabyte each once they have worked. One that is used again and again stays,
    also where other programs have taken the memory, because to start it takes seconds.
    """

    share: float = 0.25
    seconds: float = 60.0

    def make(self, places: Iterable[Place]) -> None:
        """End idle agents of this machine, the one that was used longest ago first, until memory is not short."""
        for place in sorted(places, key=lambda one: one.used):
            in_all, available = machine_memory()
            if available >= self.share * in_all or time.monotonic() - place.used < self.seconds:
                return
            if place.lock.acquire(blocking=False):
                place.end()
                place.lock.release()
