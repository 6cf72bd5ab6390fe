"""What is read of LoadGen's summary, and what its callbacks may do."""

from __future__ import annotations

from typing import Any

import pytest

from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.contract import Place, TimeCall
from bench_plugin.agent.scenarios import loadgen
from bench_plugin.agent.scenarios.summary import figures_of

SINGLE = """
================================================
MLPerf Results Summary
================================================
SUT name : PySUT
Scenario : SingleStream
Mode     : PerformanceOnly
90.0th percentile latency (ns) : 31250
Result is : VALID
  Min duration satisfied : Yes
  Min queries satisfied : Yes

================================================
Additional Stats
================================================
QPS w/ loadgen overhead         : 33000.00
QPS w/o loadgen overhead        : 40000.00

Min latency (ns)                : 20000
Max latency (ns)                : 900000
Mean latency (ns)               : 25000
50.00 percentile latency (ns)   : 24000
90.00 percentile latency (ns)   : 31250
99.90 percentile latency (ns)   : 120000
"""
SERVER = """
Scenario : Server
Completed samples per second    : 199.50
Result is : INVALID
  Performance constraints satisfied : NO
  Min duration satisfied : Yes
"""


def test_times_of_a_summary_are_seconds_and_percentiles_have_their_names() -> None:
    found = figures_of(SINGLE)
    assert found["result"] == "VALID" and "why" not in found and "per_second" not in found
    assert found["mean"] == pytest.approx(25e-6) and found["max"] == pytest.approx(9e-4)
    assert found["percentiles"] == pytest.approx({"p50": 24e-6, "p90": 31.25e-6, "p99.9": 120e-6})


def test_what_was_not_satisfied_is_named() -> None:
    found = figures_of(SERVER)
    assert found["result"] == "INVALID" and found["why"] == ["Performance constraints satisfied"]
    assert found["per_second"] == 199.5


def test_a_text_without_a_result_is_no_summary() -> None:
    with pytest.raises(ValueError, match="no result"):
        figures_of("Scenario : Server")


class Library:
    """The part of LoadGen that callbacks use: it notes which samples were answered."""

    def __init__(self) -> None:
        self.answered: list[int] = []

    def QuerySampleResponse(self, number: int, data: int, size: int) -> int:
        return number

    def QuerySamplesComplete(self, responses: list[int]) -> None:
        self.answered += responses


class Sample:
    """A sample of a query."""

    def __init__(self, number: int, index: int) -> None:
        self.id, self.index = number, index


def answers(library: Any, *, null: bool = False, fails: bool = False) -> Any:
    def invoke() -> int:
        if fails:
            raise RuntimeError("the runtime said no")
        return 7

    return loadgen._Answers(library, [(invoke, lambda result: [result])] * 2, null)


def test_a_callback_raises_nothing_and_answers_every_sample() -> None:
    """LoadGen would end the process, or wait for ever."""
    library = Library()
    found = answers(library, fails=True)
    found.answer([Sample(1, 0), Sample(2, 1)])
    assert library.answered == [1, 2] and str(found.failed) == "the runtime said no"


def test_null_queries_are_answered_without_an_inference() -> None:
    library = Library()
    found = answers(library, null=True, fails=True)
    found.answer([Sample(1, 0)])
    assert library.answered == [1] and found.failed is None and found.estimate() == loadgen.SHORTEST


def test_outputs_are_those_that_the_scenario_gave() -> None:
    library = Library()
    found = answers(library)
    found.answer([Sample(1, 1)])
    assert (found.queries, found.samples) == (1, 1) and found.outputs(2) == [[7], [7]]


def test_without_loadgen_a_scenario_is_unsupported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "mlperf_loadgen", None)
    call = TimeCall(batched=False, scenario="offline").at(Place("", {}, {}, lambda stage: None))
    with pytest.raises(Unsupported, match="mlcommons-loadgen"):
        loadgen.driven(call, lambda xs: (lambda: xs, list), [[1]])
