"""Recording of series while a block of the agent's code runs::

    with telemetry.sampling() as series:
        with series.phase("full"):
            ...                                  # the timed run
    reply = Reply({"telemetry": telemetry.about(series)}, telemetry.arrays(series))

The sampler is a process of its own (sampler.py). Where it cannot be started or fails, the block runs all the same, and
``about`` says why there are no series.
"""

from __future__ import annotations

import array
import json
import os
import select
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from typing import Any, Dict, Iterator, List, Tuple

from bench_plugin.agent.telemetry.gpu import LIBRARY
from bench_plugin.agent.telemetry.machine import hot, state
from bench_plugin.agent.telemetry.sampler import HZ, Request
from bench_plugin.agent.wire import Array

READY = 30.0  # seconds until a sampler is ready; an emulated board needs some
REPORT = 30.0  # seconds until it has printed its report
REST = 10.0  # seconds of a window of power, at least (docs/results.md)
PREFIX = "series:"  # of the names of arrays with values; those with their times end in ".time"
TIME = ".time"
START = """\
import sys
sys.path.insert(0, sys.argv[1])
from bench_plugin.agent.telemetry.sampler import main
main(sys.argv[2])
"""


class Failed(Exception):
    """The sampler did not start, or gave no report; the text says why."""


class Series:
    """The series of one recording, complete when its block is over.

    began: the monotonic clock (``time.monotonic()``, seconds) at time 0 of all series.
    names: the series that there are.
    report: what the sampler printed: ``series`` and ``cost``, see :mod:`.sampler`.
    phases: what :meth:`phase` marked: ``name``, ``begin`` and ``end`` (seconds since ``began``).
    machine: the state of the machine before the block.
    failed: why there are no series; empty where there are.
    """

    def __init__(self, machine: Dict[str, Any]) -> None:
        self.machine = machine
        self.began = time.monotonic()
        self.names: Tuple[str, ...] = ()
        self.report: Dict[str, Any] = {"series": {}}
        self.phases: List[Dict[str, Any]] = []
        self.failed = ""
        self.throttled: Dict[str, int] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[Dict[str, Any]]:
        """Mark a part of the recording, such as ``base``, ``idle`` or ``full``; yields what is said of it.

        The block may add to that: of ``full``, how many ``inferences`` it did, which took ``busy`` seconds together.
        """
        marked: Dict[str, Any] = {"name": name, "begin": time.monotonic() - self.began}
        try:
            yield marked
        finally:
            marked["end"] = time.monotonic() - self.began
            self.phases.append(marked)

    def begin_with(self, earlier: Series) -> None:
        """Put the phases and values of an earlier recording before these, in the time of that one."""
        later = self.began - earlier.began
        for phase in self.phases:
            phase.update(begin=phase["begin"] + later, end=phase["end"] + later)
        self.phases[:0] = earlier.phases
        for name, one in self.report["series"].items():
            before = earlier.report["series"].get(name, {"time": [], "value": []})
            one["time"] = before["time"] + [at + later for at in one["time"]]
            one["value"] = before["value"] + one["value"]
            if "ended" in one:
                one["ended"] = {**one["ended"], "at": one["ended"]["at"] + later}
        self.began = earlier.began

    @property
    def metered(self) -> bool:
        """Whether there is a power meter."""
        return any("power" in name for name in self.names)

    def rest(self, name: str, seconds: float = REST) -> None:
        """Mark a phase in which nothing is done for ``seconds``, on a machine with a power meter; else do nothing."""
        if self.metered:
            with self.phase(name):
                time.sleep(seconds)


@contextmanager
def sampling(
    hz: float = HZ, *, root: str = "/", pid: int = 0, meter: str = "", nvml: str = LIBRARY
) -> Iterator[Series]:
    """Record series of the process ``pid`` (0: this one) and of the machine while the block runs.

    ``hz`` is how often the sampler looks; ``meter`` is the file of the board's own power meter; ``root`` is the folder
    that holds ``proc`` and ``sys``.
    """
    series = Series(state(root))
    before = hot(root)
    request = Request(root, pid or os.getpid(), hz, meter, nvml, _other_cores())
    try:
        process = _started(request, series)
    except (OSError, Failed) as error:
        series.failed = "the sampler did not start: %s" % error
        yield series
        return
    try:
        yield series
    finally:
        try:
            series.report = _ended(process)
        except (OSError, Failed) as error:
            series.failed = "the sampler gave no report: %s" % error
        after = hot(root)
        series.throttled = {name: after[name] - before[name] for name in after if name in before}


def resting(name: str, seconds: float, meter: str = "") -> Series:
    """A recording of ``seconds`` in which nothing is done, as phase ``name``; empty on a machine without a meter."""
    with sampling(meter=meter) as series:
        series.rest(name, seconds)
    return series


def arrays(series: Series) -> Dict[str, Array]:
    """The values of every series, ``series:<name>`` float64 [n], and their times, ``series:<name>.time`` float64 [n].

    Times are seconds since ``series.began``. A series without a value is left out.
    """
    found = {}
    for name, one in series.report["series"].items():
        if one["value"]:
            found[PREFIX + name] = _blob(one["value"])
            found[PREFIX + name + TIME] = _blob(one["time"])
    return found


def about(series: Series) -> Dict[str, Any]:
    """What is said of the series, as plain data for a reply and a row (docs/results.md, "Series over time").

    ``series`` by name: ``unit``, ``source``, ``place``, ``hz``, ``accuracy``, n = ``samples`` and their ``mean``,
    ``sd``, ``median``, ``min`` and ``max``; ``ended`` where the sensor went away. ``sampler``: its cost, or ``failed``.
    ``machine``: its state before, and ``clock_seen_hz``, the least and the highest clock of a core; ``throttled``: how
    often it throttled meanwhile; ``phases``; ``began``, this machine's monotonic clock at time 0.
    """
    described = {}
    for name, one in series.report["series"].items():
        channel = {key: value for key, value in one["channel"].items() if value not in ("", None)}
        described[name] = {**channel, **summary(one["value"])}
        if "ended" in one:
            described[name]["ended"] = one["ended"]
    cost = dict(series.report.get("cost", {}))
    ticks = series.report.get("ticks", [])
    if ticks:
        cost.update(ticks=len(ticks), seconds_per_tick=statistics.median(ticks), longest_tick=max(ticks))
        cost["share"] = cost["processor_seconds"] / cost["seconds"]
    if series.failed:
        cost["failed"] = series.failed
    machine = {**series.machine, **_clock_seen(described)}
    return {
        "series": described, "sampler": cost, "machine": machine, "throttled": series.throttled,
        "phases": series.phases, "began": series.began,
    }  # fmt: skip


def summary(values: List[float]) -> Dict[str, Any]:
    """``samples``, and of at least one value ``mean``, ``median``, ``min``, ``max``, of two ``sd`` (of the sample).

    >>> summary([1.0, 3.0])["mean"]
    2.0
    """
    found: Dict[str, Any] = {"samples": len(values)}
    if values:
        found.update(mean=statistics.fmean(values), median=statistics.median(values), min=min(values), max=max(values))
    if len(values) > 1:
        found["sd"] = statistics.stdev(values)
    return found


def _clock_seen(described: Dict[str, Dict[str, Any]]) -> Dict[str, List[float]]:
    clocks = [one for name, one in described.items() if name.startswith("clock.") and one["samples"]]
    if not clocks:
        return {}
    return {"clock_seen_hz": [min(one["min"] for one in clocks), max(one["max"] for one in clocks)]}


def _blob(values: List[float]) -> Array:
    data = array.array("d", values)
    if sys.byteorder == "big":
        data.byteswap()
    return Array("float64", (len(values),), data.tobytes())


def _other_cores() -> Tuple[int, ...]:
    """The cores that this process does not use but may; none where it uses all, or cannot know."""
    mine = os.sched_getaffinity(0)
    return tuple(sorted(set(range(os.cpu_count() or 1)) - mine))


def _started(request: Request, series: Series) -> subprocess.Popen[bytes]:
    """A sampler that is ready. Raises Failed where it ends or says nothing, OSError where it cannot be started."""
    package = os.path.dirname(os.path.abspath(__file__))
    for _ in range(3):  # the folder or the archive that holds bench_plugin/agent/telemetry
        package = os.path.dirname(package)
    command = [sys.executable, "-I", "-S", "-c", START, package, json.dumps(request._asdict())]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        ready = _line(process, READY)
    except Failed:
        _kill(process)
        raise
    series.names, series.began = tuple(ready["channels"]), float(ready["began"])
    return process


def _line(process: subprocess.Popen[bytes], limit: float) -> Dict[str, Any]:
    """The next line that a sampler prints. Raises Failed where none comes in ``limit`` seconds."""
    assert process.stdout is not None
    if not select.select([process.stdout], [], [], limit)[0]:
        raise Failed("it printed nothing in %g s" % limit)
    line = process.stdout.readline()
    if not line.endswith(b"\n"):
        raise Failed("it ended with status %d; its messages are in this log" % process.wait())
    found: Dict[str, Any] = json.loads(line)
    return found


def _ended(process: subprocess.Popen[bytes]) -> Dict[str, Any]:
    """End a sampler; returns its report. Raises Failed and OSError."""
    assert process.stdin is not None
    try:
        with suppress(BrokenPipeError):  # it is gone; what it printed, or its status, says more
            process.stdin.write(b"\n")
            process.stdin.flush()
        return _line(process, REPORT)
    finally:
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(BrokenPipeError):  # of the byte for a sampler that was gone already
                stream.close()
