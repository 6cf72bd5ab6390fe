"""LoadGen issues the queries of a scenario, and the runtime's own calls answer them.

LoadGen ends the process where a callback raises or its log folder is missing, and waits for ever for a query that
nobody answers. So callbacks raise nothing: what the runtime raises is kept, the query is answered all the same, and it
is raised again when the test has ended. The limits of the call end what hangs.
"""

from __future__ import annotations

import importlib
import os
import queue
import statistics
import threading
import time
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence

from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.scenarios.summary import figures_of
from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.toolkit.timing import Bind, Timed, Values

if TYPE_CHECKING:
    from array import array

    from bench_plugin.agent.contract import TimeCall

DISTRIBUTION = "mlcommons-loadgen"
SCENARIOS = {
    "single-stream": "SingleStream", "multi-stream": "MultiStream", "offline": "Offline", "server": "Server",
}  # fmt: skip
SUMMARY = "mlperf_log_summary.txt"
LEAST_QUERIES = 10
PER_QUERY = 8  # samples of a query of multi-stream
ESTIMATED = 5  # calls before the test, whose median says how many queries it will take
SHORTEST = 5e-6  # seconds: what LoadGen itself takes for a query is not less
BELOW = 0.5  # LoadGen wants an expected latency that lies below the real one
ABOVE = 1.5  # and for offline an expected rate above the real one, or its only query would end too early
LOAD = 0.5  # of the server: the share of the single-stream rate that queries arrive at
PATIENCE = 10.0  # of the server: the bound of its latency, in times of a single call
LEAST_BOUND = 1e-3  # seconds that this bound is at least


def driven(call: TimeCall, bind: Bind, samples: Sequence[Values]) -> Timed:
    """The figures of the call's scenario; each sample of LoadGen is one inference of ``samples``, inputs [1, ...].

    With ``call.scenario_null`` queries are answered without an inference: what is left is the cost of LoadGen and of
    the callbacks. Raises Unsupported where LoadGen is not installed, ValueError for an unknown scenario and for a
    summary without a result, and what the runtime raises.
    """
    if call.scenario not in SCENARIOS:
        raise ValueError("unknown scenario %r; there are %s" % (call.scenario, ", ".join(SCENARIOS)))
    lg = _loadgen()
    answers = _Answers(lg, [bind(xs) for xs in samples], call.scenario_null)
    estimate = answers.estimate()
    settings, said = _settings(lg, call, estimate)
    folder = os.path.join(call.folder, "loadgen")
    os.makedirs(folder, exist_ok=True)
    began = time.perf_counter()
    _test(lg, answers, settings, folder, len(samples), apart=call.scenario == "server")
    took = time.perf_counter() - began
    if answers.failed is not None:
        raise answers.failed
    with open(os.path.join(folder, SUMMARY), encoding="utf-8") as file:
        found = figures_of(file.read())
    found.update({
        "scenario": call.scenario, "null": call.scenario_null, "settings": said, "estimate": estimate,
        "queries": answers.queries, "samples": answers.samples, "seconds": took, "inputs": len(samples),
        "loadgen": versions.found(DISTRIBUTION).get(DISTRIBUTION, ""),
    })  # fmt: skip
    kept = 1 if call.scenario_null else min(call.sampled or len(samples), len(samples))
    return Timed(answers.outputs(kept), found, _none())


def _none() -> "array[float]":
    from array import array

    return array("d")


def _loadgen() -> Any:
    try:
        return importlib.import_module("mlperf_loadgen")
    except ImportError as error:
        raise Unsupported(
            "scenarios need %s, which the toolchain of this adapter does not have: %s" % (DISTRIBUTION, error)
        ) from error


class _Answers:
    """Answers queries by inferences of the samples; ``failed`` is the first thing that one of them raised."""

    def __init__(self, lg: Any, pairs: Sequence[Any], null: bool) -> None:
        self._lg = lg
        self._pairs = pairs
        self._null = null
        self._kept: List[Optional[Values]] = [None] * len(pairs)
        self.failed: Optional[Exception] = None
        self.queries = self.samples = 0

    def estimate(self) -> float:
        """Seconds of an inference, before the test; at least what LoadGen itself takes."""
        if self._null:
            return SHORTEST
        found = []
        for number in range(ESTIMATED):
            invoke, read = self._pairs[number % len(self._pairs)]
            began = time.perf_counter()
            result = invoke()
            found.append(time.perf_counter() - began)
            read(result)
        return max(SHORTEST, statistics.median(found))

    def answer(self, samples: Sequence[Any]) -> None:
        """Answer every sample of a query, one after the other, each at once when it is done."""
        self.queries += 1
        self.samples += len(samples)
        for sample in samples:
            if not self._null and self.failed is None:
                try:
                    self._infer(sample.index)
                except Exception as error:
                    self.failed = error
            self._lg.QuerySamplesComplete([self._lg.QuerySampleResponse(sample.id, 0, 0)])

    def outputs(self, count: int) -> List[Values]:
        """The outputs of the first ``count`` samples, as the test gave them; what it did not reach is called now."""
        pairs = zip(self._kept[:count], self._pairs)
        return [read(invoke()) if values is None else values for values, (invoke, read) in pairs]

    def _infer(self, index: int) -> None:
        invoke, read = self._pairs[index]
        result = invoke()
        if self._kept[index] is None:  # read at once: the next call may write over it
            self._kept[index] = read(result)


def _settings(lg: Any, call: TimeCall, estimate: float) -> "tuple[Any, Dict[str, object]]":
    """The test's settings, and the same as plain data: seconds, rates per second, samples."""
    found = lg.TestSettings()
    found.scenario = getattr(lg.TestScenario, SCENARIOS[call.scenario])
    found.mode = lg.TestMode.PerformanceOnly
    found.min_duration_ms = max(1, int(1e3 * call.scenario_seconds))
    found.max_duration_ms = 3 * found.min_duration_ms
    found.min_query_count = LEAST_QUERIES
    said: Dict[str, object] = {"min_seconds": call.scenario_seconds, "min_queries": LEAST_QUERIES}
    if call.scenario == "single-stream":
        found.single_stream_expected_latency_ns = max(1, int(1e9 * BELOW * estimate))
    elif call.scenario == "multi-stream":
        found.multi_stream_samples_per_query = PER_QUERY
        found.multi_stream_expected_latency_ns = max(1, int(1e9 * BELOW * PER_QUERY * estimate))
        said["samples_per_query"] = PER_QUERY
    elif call.scenario == "offline":
        found.offline_expected_qps = ABOVE / estimate
    else:
        rate = call.scenario_rate or LOAD / estimate
        bound = call.scenario_bound or max(LEAST_BOUND, PATIENCE * estimate)
        found.server_target_qps = rate
        found.server_target_latency_ns = int(1e9 * bound)
        said.update(target_per_second=rate, bound=bound)
    return found, said


def _test(lg: Any, answers: _Answers, settings: Any, folder: str, count: int, *, apart: bool) -> None:
    """Run one test; with ``apart`` queries are answered in a thread of their own, so that none delays the next."""
    output = lg.LogOutputSettings()
    output.outdir = folder
    output.copy_summary_to_stdout = False
    logs = lg.LogSettings()
    logs.log_output = output
    logs.enable_trace = False
    waiting: "queue.SimpleQueue[Any]" = queue.SimpleQueue()

    def work() -> None:
        while True:
            samples = waiting.get()
            if samples is None:
                return
            answers.answer(samples)

    worker = threading.Thread(target=work, name="scenario", daemon=True)
    if apart:
        worker.start()
    sut = lg.ConstructSUT(waiting.put if apart else answers.answer, _nothing)
    library = lg.ConstructQSL(count, count, _ignore, _ignore)
    try:
        lg.StartTestWithLogSettings(sut, library, settings, logs, "")
    finally:
        lg.DestroyQSL(library)
        lg.DestroySUT(sut)
        if apart:
            waiting.put(None)
            worker.join()


def _nothing() -> None:
    """Queries are answered as they come, so there is nothing to flush."""


def _ignore(indices: Sequence[int]) -> None:
    """The samples are in memory all the time."""
