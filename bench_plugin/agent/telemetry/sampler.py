"""The sampler: a process beside the agent that reads all sensors at a steady rate and prints the series at its end.

It is no thread of the agent, because a thread would hold Python's global lock while it reads, just when a runtime comes
back from an inference, and would wait for it through every call of a library that does not give it up. It runs on cores
that the agent does not use, where there are such, and its own processor time is in its report.

It gets one JSON object as its argument (:class:`Request`), prints the line ``{"channels": [...], "began": seconds}``
when it is ready, and its report (:meth:`Sampler.report`) when its standard input has a byte. Where its input ends
without one, the agent is gone, and it ends without a report.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from contextlib import suppress
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence, Tuple

from bench_plugin.agent.telemetry.clock import clocks
from bench_plugin.agent.telemetry.cpu import CoreTime, TreeTime
from bench_plugin.agent.telemetry.gpu import LIBRARY, Gpus
from bench_plugin.agent.telemetry.memory import Proportional, Resident
from bench_plugin.agent.telemetry.power import Rails, Rapl, meters
from bench_plugin.agent.telemetry.processes import Tree
from bench_plugin.agent.telemetry.reader import Channel, Reader
from bench_plugin.agent.telemetry.temperature import temperatures

HZ = 20.0
SLACK = 0.1  # share of a reader's period: ticks that come a little early are not left out


class Request(NamedTuple):
    """What a sampler reads: the root folder, the process, ticks per second, the board's meter, and NVML's library."""

    root: str
    pid: int
    hz: float = HZ
    meter: str = ""
    nvml: str = LIBRARY
    cores: Tuple[int, ...] = ()  # those of the sampler itself; empty: any


def readers(request: Request, now: float) -> List[Reader]:
    """All readers that have a series on this machine; ``now`` is in seconds of the monotonic clock."""
    root, pid = request.root, request.pid
    tree = Tree(root, pid, without=os.getpid())
    found: Tuple[Reader, ...] = (
        TreeTime(root, tree, now), CoreTime(root, pid, now), Resident(root, tree, now), Proportional(root, tree, now),
        Gpus(request.nvml), temperatures(root), clocks(root, pid), meters(root, request.meter), Rails(root),
        Rapl(root, now, request.meter),
    )  # fmt: skip
    return [reader for reader in found if reader.channels]


class Sampler:
    """Reads readers and keeps what they say as series of times and values; ``began`` is the time 0 of all series."""

    def __init__(self, sources: Sequence[Reader], began: float) -> None:
        self.channels: Dict[str, Channel] = {name: one for source in sources for name, one in source.channels.items()}
        self._sources = list(sources)
        self._began = began
        self._due = {id(source): began + source.period for source in sources}
        self._times: Dict[str, List[float]] = {name: [] for name in self.channels}
        self._values: Dict[str, List[float]] = {name: [] for name in self.channels}
        self._ended: Dict[str, Tuple[float, str]] = {}
        self._costs: List[float] = []  # the seconds that each tick took

    def tick(self, now: float) -> None:
        """Read every reader whose period is over at ``now``, in seconds of the monotonic clock."""
        begin = time.monotonic()
        for source in list(self._sources):
            if now >= self._due[id(source)] - SLACK * source.period:
                self._due[id(source)] = now + source.period
                self._take(source, now)
        self._costs.append(time.monotonic() - begin)

    def _take(self, source: Reader, now: float) -> None:
        """Read one reader; one that fails as a whole ends all of its series."""
        ended = source.ended
        try:
            for name, value in source.read(now).items():
                self._times[name].append(now - self._began)
                self._values[name].append(value)
        except (OSError, ValueError) as error:
            ended = dict.fromkeys(source.channels, "%s: %s" % (type(error).__name__, error))
            self._sources.remove(source)
        for name, reason in ended.items():
            self._ended.setdefault(name, (now - self._began, reason))

    def report(self) -> Dict[str, Any]:
        """Plain data: ``series`` by name, and ``ticks``, the cost of each of the T ticks in seconds.

        A series has ``time`` (seconds since the beginning) and ``value``, lists of n numbers each, ``channel`` (the
        fields of :class:`Channel`), and ``ended`` where its sensor went away: ``at`` in seconds, and ``why``.
        """
        series: Dict[str, Any] = {}
        for name, channel in self.channels.items():
            series[name] = {"time": self._times[name], "value": self._values[name], "channel": channel._asdict()}
            if name in self._ended:
                at, why = self._ended[name]
                series[name]["ended"] = {"at": at, "why": why}
        return {"series": series, "ticks": self._costs}


def run(request: Request, wanted: int) -> None:
    """Sample until the descriptor ``wanted`` has a byte, then print the report."""
    if request.cores:
        with suppress(OSError):  # a container may forbid them; then it stays where the agent is, which its report says
            os.sched_setaffinity(0, request.cores)
    began = time.monotonic()
    sampler = Sampler(readers(request, began), began)
    _say({"channels": sorted(sampler.channels), "began": began})
    used, late, due = time.process_time(), 0, began
    while True:
        due += 1 / request.hz
        now = time.monotonic()
        if due < now:  # what was missed is left out, and counted
            missed = int((now - due) * request.hz)
            late, due = late + missed, due + missed / request.hz
        if select.select([wanted], [], [], max(0.0, due - now))[0]:
            break
        sampler.tick(time.monotonic())
    if os.read(wanted, 1):
        cost = {
            "hz": request.hz, "late": late, "seconds": time.monotonic() - began,
            "processor_seconds": time.process_time() - used, "cores": sorted(os.sched_getaffinity(0)),
        }  # fmt: skip
        _say({**sampler.report(), "cost": cost})


def _say(what: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def main(argument: str) -> None:
    """Sample what the JSON object ``argument`` asks for, until standard input ends or has a byte."""
    given = json.loads(argument)
    run(Request(**{**given, "cores": tuple(given.get("cores", ()))}), sys.stdin.fileno())
