"""Timing: the seconds of a runtime's own call, by this machine's monotonic clock, while its outputs are sampled."""

from __future__ import annotations

import gc
import os
import statistics
import sys
import time
from array import array
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple

from bench_plugin.agent.toolkit.calibration import Calibration

if TYPE_CHECKING:
    from bench_plugin.agent.contract import TimeCall
    from bench_plugin.agent.wire import Array

Values = List[Any]
Run = Callable[[Values], Values]
Invoke = Callable[[], Any]  # the runtime's own call on inputs that were bound to it before
Read = Callable[[Any], Values]  # from what the call returned to the outputs of the sample
Bind = Callable[[Values], Tuple[Invoke, Read]]
Clock = Callable[[], int]

SHORT = 50_000  # ns: an inference that is faster is timed by several per sample
LONG_SAMPLE = 1_000_000  # ns that a sample of several inferences takes at least
ESTIMATE_SECONDS = 0.02  # of calls before the warm-up, which say how many fit into a block
LAST = 5  # blocks whose medians must show no trend at the end of the warm-up
TREND = 8  # of the ten pairs of five medians, how many more rise than fall, or fall than rise, in a trend
LEVEL = 0.005  # a change of the medians below this share is no trend
SINGLE_SHARE = 0.25  # of the time of the blocks that the second pass, of single calls, may take
BARE_PAIRS, BARE_NS, BARE_MOST, BARE_SHARE = 4, 20_000_000, 500, 0.3  # of the comparison with a bare loop
MOST_SINGLES, FEWEST_SINGLES = 10_000, 100


class Timed(List[Values]):
    """The outputs of the sampled inferences, with the figures of the timed run and its samples in seconds.

    ``series`` are further series [n] that were recorded meanwhile, by the names of their arrays.
    """

    def __init__(self, outputs: Sequence[Values], said: Dict[str, object], singles: "array[float]") -> None:
        """``outputs`` has those of each inference, [1, ...] or [...]; ``singles`` seconds of single calls [n]."""
        super().__init__(outputs)
        self.said = said
        self.singles = singles
        self.series: Dict[str, Array] = {}


def bound(run: Run) -> Bind:
    """The binding of an adapter that has none of its own: all that ``run`` does with inputs [...] is timed."""
    return lambda xs: (partial(run, xs), list)


def timed(call: TimeCall, bind: Bind, samples: Sequence[Values], clock: Clock = time.perf_counter_ns) -> Timed:
    """Time the model on ``samples`` in turn, as the call's plan says, with Python's garbage collection off.

    Each of ``samples`` has the inputs of one inference, [1, ...] or [...]. The outputs of the first ``call.sampled`` of
    them are those that the timed inferences gave. Raises what the runtime raises.
    """
    pairs = [bind(xs) for xs in samples]
    invoke, read = pairs[0]
    began = clock()
    result = invoke()
    first = clock() - began
    read(result)
    loop = _Loop(pairs, min(call.sampled or len(samples), len(samples)), clock)
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    calibration = Calibration(clock)
    try:
        calibration.take()
        said, singles = _measured(call, loop)
        calibration.take()
        said["set"] = conditions()
    finally:
        if enabled:
            gc.enable()
    said.update({
        "first_inference": first / 1e9, "clock": {"cost": clock_cost(clock), "resolution": resolution()},
        "calibration": calibration.said(),
        "inputs": len(samples), "sampled": len(loop.kept),
    })  # fmt: skip
    return Timed(loop.outputs(), said, singles)


class _Loop:
    """Calls the inferences in turn, and keeps what the first ``sampled`` of them gave."""

    def __init__(self, pairs: Sequence[Tuple[Invoke, Read]], sampled: int, clock: Clock) -> None:
        self._invokes = [invoke for invoke, _ in pairs]
        self._reads = [read for _, read in pairs]
        self._next = 0
        self.clock = clock
        self.kept: List[Optional[Values]] = [None] * sampled

    def forget(self) -> None:
        """Forget the outputs of the warm-up."""
        self.kept = [None] * len(self.kept)

    def singles(self, seconds: float, least: int, most: int = sys.maxsize) -> List[int]:
        """Nanoseconds of single calls: of at least ``seconds`` and ``least`` calls, of at most ``most`` calls."""
        clock, invokes, kept = self.clock, self._invokes, self.kept
        size, sampled, index = len(invokes), len(kept), self._next
        found: List[int] = []
        left = int(seconds * 1e9)
        while len(found) < most and (len(found) < least or left > 0):
            invoke = invokes[index]
            begin = clock()
            result = invoke()
            took = clock() - begin
            found.append(took)
            left -= took
            if index < sampled and kept[index] is None:  # read at once: the next call may write over it
                kept[index] = self._reads[index](result)
            index = index + 1 if index + 1 < size else 0
        self._next = index
        return found

    def several(self, count: int, seconds: float, least: int) -> List[float]:
        """Nanoseconds per call of samples of ``count`` calls each, for at least ``seconds`` and ``least`` samples."""
        clock, size = self.clock, len(self._invokes)
        chunk = [self._invokes[index % size] for index in range(count)]
        found: List[float] = []
        end = clock()
        until = end + int(seconds * 1e9)
        while len(found) < least or end < until:
            begin = clock()
            for invoke in chunk:
                invoke()
            end = clock()
            found.append((end - begin) / count)
        return found

    def bare(self, count: int) -> float:
        """Nanoseconds per call of a bare loop: the clock is read before and after all of ``count`` calls."""
        size = len(self._invokes)
        calls = [self._invokes[index % size] for index in range(count)]
        begin = self.clock()
        for invoke in calls:
            invoke()
        return (self.clock() - begin) / count

    def outputs(self) -> List[Values]:
        """The outputs of the sampled inferences; one that no timed call reached is called now."""
        pairs = zip(self.kept, self._invokes, self._reads)
        return [read(invoke()) if values is None else values for values, invoke, read in pairs]


def _measured(call: TimeCall, loop: _Loop) -> Tuple[Dict[str, object], "array[float]"]:
    """The warm-up, the blocks, and for a fast model the second pass of single calls."""
    estimate = statistics.median(loop.singles(ESTIMATE_SECONDS, 5))
    count = 1 if estimate >= SHORT else int(LONG_SAMPLE / max(estimate, 1)) + 1
    caps: List[str] = []
    calls, seconds = _block_size(call, estimate * count / 1e9, caps)

    def block() -> Sequence[float]:
        return loop.singles(seconds, calls) if count == 1 else loop.several(count, seconds, calls)

    warmed, settled = _warm_up(block, call.warmup_seconds, loop.clock)
    if not settled:
        caps.append("the warm-up ended by its cap of %g s, with a trend" % call.warmup_seconds)
    loop.forget()
    began = loop.clock()
    blocks = [block() for _ in range(call.blocks)]
    elapsed = max(loop.clock() - began, 1)
    values = [value for one in blocks for value in one]
    singles: Sequence[float] = values
    if count > 1:
        wanted = max(FEWEST_SINGLES, min(MOST_SINGLES, int(SINGLE_SHARE * call.seconds * 1e9 / max(estimate, 1))))
        singles = loop.singles(0.0, wanted, wanted)
    said: Dict[str, object] = {
        "inner": count, "block_samples": [len(one) for one in blocks], "warmup_blocks": warmed, "settled": settled,
        "block_medians": [statistics.median(one) / 1e9 for one in blocks], "mean": statistics.fmean(values) / 1e9,
        "median": statistics.median(values) / 1e9, "caps": caps, "per_second": len(values) * count * 1e9 / elapsed,
        "bare_ratio": _bare_ratio(loop, estimate, call.seconds),
    }  # fmt: skip
    return said, array("d", [value / 1e9 for value in singles])


def _bare_ratio(loop: _Loop, estimate: float, seconds: float) -> Optional[float]:
    """The mean of single calls over that of a bare loop of the same calls, in turn; None where that takes too long."""
    calls = max(1, min(BARE_MOST, int(BARE_NS / max(estimate, 1))))
    if 2 * BARE_PAIRS * calls * estimate > BARE_SHARE * seconds * 1e9:
        return None
    ratios = []
    for pair in range(BARE_PAIRS):
        if pair % 2:
            bare, single = loop.bare(calls), statistics.fmean(loop.singles(0.0, calls, calls))
        else:
            single, bare = statistics.fmean(loop.singles(0.0, calls, calls)), loop.bare(calls)
        ratios.append(single / max(bare, 1e-9))
    return statistics.median(ratios)


def _block_size(call: TimeCall, sample: float, caps: List[str]) -> Tuple[int, float]:
    """The least samples and seconds of a block, where a sample takes ``sample`` seconds; the cap of a launch binds."""
    wanted = max(call.block_seconds, call.block_samples * sample)
    if call.blocks * wanted <= call.seconds:
        return call.block_samples, call.block_seconds
    share = call.seconds / call.blocks
    count = max(1, min(call.block_samples, int(share / max(sample, 1e-9))))
    text = "blocks are shorter than %d samples or %.0f ms, because a launch has a cap of %g s"
    caps.append(text % (call.block_samples, call.block_seconds * 1e3, call.seconds))
    return count, min(call.block_seconds, share)


def _warm_up(block: Callable[[], Sequence[float]], cap: float, clock: Clock) -> Tuple[int, bool]:
    """Run blocks until the medians of the last five show no trend, or for ``cap`` seconds: (blocks, whether so)."""
    medians: List[float] = []
    until = clock() + int(cap * 1e9)
    while True:
        medians.append(statistics.median(block()))
        if no_trend(medians):
            return len(medians), True
        if clock() >= until:
            return len(medians), False


def no_trend(medians: Sequence[float]) -> bool:
    """Whether the last five of these medians neither rise nor fall, by Mann and Kendall's count of ordered pairs."""
    last = list(medians[-LAST:])
    if len(last) < LAST:
        return False
    pairs = [(one, other) for index, one in enumerate(last) for other in last[index + 1 :]]
    ordered = sum((other > one) - (other < one) for one, other in pairs)
    return abs(ordered) < TREND or abs(last[-1] - last[0]) <= LEVEL * statistics.median(last)


def clock_cost(clock: Clock = time.perf_counter_ns, readings: int = 2000) -> float:
    """Seconds between two readings of the clock with nothing between: what each single-call sample has of it."""
    differences = []
    for _ in range(readings):
        begin = clock()
        differences.append(clock() - begin)
    return statistics.median(differences) / 1e9


def resolution() -> float:
    """The resolution in seconds that the system states of the clock."""
    return time.get_clock_info("perf_counter").resolution


def conditions() -> Dict[str, object]:
    """What this process can say of the conditions of a timing."""
    about: Dict[str, object] = {
        "gc": gc.isenabled(), "allocator": allocator(), "input_location": "host memory",
        "denormals_flushed": flushes_denormals(),
    }  # fmt: skip
    if hasattr(os, "sched_getaffinity"):
        about["affinity"] = sorted(os.sched_getaffinity(0))
    waiting = ("OMP_WAIT_POLICY", "KMP_BLOCKTIME", "OMP_NUM_THREADS", "GOMP_CPU_AFFINITY")
    said = {name: os.environ[name] for name in waiting if name in os.environ}
    if said:
        about["variables"] = said
    return about


def allocator() -> str:
    """The allocator that is loaded in front of the C library's: its name, else ``libc``; empty where none can tell."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            mapped = file.read()
    except OSError:
        return ""
    return next((name for name in ("jemalloc", "tcmalloc", "mimalloc") if "lib" + name in mapped), "libc")


def flushes_denormals() -> Optional[bool]:
    """Whether this thread's arithmetic makes zeros of subnormal results; None where numpy is not there to ask."""
    try:
        import numpy as np
    except ImportError:
        return None
    smallest = np.array([np.finfo(np.float32).tiny], dtype=np.float32)
    return not bool((smallest * np.float32(0.5))[0] > 0)
