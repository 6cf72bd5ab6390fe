"""What the row of a timed cell gives the test of a user: percentiles, instructions, and no latency of an emulator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.results.known_failures.expectations import Judgement, Result
from bench_plugin.results.series import keep
from bench_plugin.session.deployed import Deployed, NotDeployed
from bench_plugin.session.measured import EmulatedLatency, Measured, NotMeasured
from bench_plugin.session.session import Judged

CELL = Cell(Check.TIMING, "net", "fake", compiler="emx", target="cortex-m3")
COMPUTE = {"median": 0.002, "mean": 0.0021, "min": 0.0019, "max": 0.004, "samples": 1000}
TIMING = {
    "launches": 5, "compute": COMPUTE, "percentiles": {"p50": 0.002, "p90": 0.003, "p99": 0.0035},
    "interval": {"low": 0.00195, "high": 0.00205, "kind": "over launches"},
    "system": {**COMPUTE, "samples": 99, "percentiles": {"p50": 0.002}},
}  # fmt: skip


def deployed(numbers: Mapping[str, Any], *, emulated: bool = False, result: Result = Result.PASSED) -> Deployed:
    placement = {"timing": "emulated"} if emulated else {}
    status = Status.SUPPORTED if result is Result.PASSED else Status.MISMATCH
    failed = {} if result is Result.PASSED else {"stage": Stage.COMPARE, "symptom": Symptom.MISMATCH}
    outcome = Outcome(status, reason="out0: E 1", numbers=numbers, placement=placement, **failed)  # type: ignore[arg-type]
    return Deployed(Judged(CELL, "abc", outcome, Judgement(result, ""), ""))


def test_figures_are_seconds_that_say_what_they_rest_on() -> None:
    compute = Measured(deployed({"timing": TIMING}), Path()).compute
    assert (compute.p50, compute.p90, compute.p99, compute.n) == (0.002, 0.003, 0.0035, 1000)
    assert (compute.minimum, compute.median, compute.mean, compute.maximum) == (0.0019, 0.002, 0.0021, 0.004)
    basis = "95 % interval of the median 0.00195 to 0.00205 s over launches; n = 1,000 in 5 launches"
    assert repr(compute.p90) == f"0.003 s (compute p90; {basis})"
    assert repr(compute) == f"<compute: median 0.002 s; {basis}>"


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("compute", "p999", r"compute: p99\.9 needs 10,000 samples of single calls, there are 1,000"),
        ("system", "p99", r"system: p99 needs 1,000 samples of single calls, there are 99"),
        ("system", "p90", r"system: p90 needs 100 samples of single calls, there are 99"),
    ],
)
def test_a_percentile_that_the_samples_do_not_carry_says_how_many_it_needs(kind: str, name: str, message: str) -> None:
    measured = Measured(deployed({"timing": TIMING}), Path())
    with pytest.raises(NotMeasured, match=message):
        getattr(getattr(measured, kind), name)


@pytest.mark.parametrize("name", ["compute", "system", "handshake", "first_inference"])
def test_an_emulated_board_has_instructions_and_no_latency(name: str) -> None:
    measured = Measured(deployed({"timing": {**TIMING, "instructions": {"median": 48_213}}}, emulated=True), Path())
    with pytest.raises(EmulatedLatency, match="cortex-m3 is an emulated board, whose .* is no latency of the device.*"
                       r"compare timing\(deployed\)\.instructions") as error:  # fmt: skip
        getattr(measured, name)
    assert isinstance(error.value, UsageError)
    assert measured.instructions == 48_213
    assert "48,213 instructions" in repr(measured)


def test_an_emulated_board_that_counts_nothing_has_no_latency_either() -> None:
    placement = {"timing": "emulated"}
    outcome = Outcome(
        Status.UNVERIFIED, Stage.RUN, reason="no time was taken", placement=placement, unverified=Unverified.NOT_RUN
    )
    measured = Measured(Deployed(Judged(CELL, "abc", outcome, Judgement(Result.SKIPPED), "")), Path())
    with pytest.raises(EmulatedLatency):
        _ = measured.compute
    with pytest.raises(NotMeasured, match="instructions was not measured on cortex-m3; measured: nothing"):
        _ = measured.instructions
    assert "no instructions" in repr(measured)


def test_what_the_board_did_not_say_is_not_zero() -> None:
    measured = Measured(deployed({"timing": TIMING}), Path())
    with pytest.raises(NotMeasured, match="instructions was not measured on cortex-m3; measured: compute, system"):
        _ = measured.instructions
    with pytest.raises(NotMeasured, match="first_inference was not measured"):
        _ = measured.first_inference
    with pytest.raises(NotMeasured, match="the check of this test is timing"):
        Measured(deployed({}), Path())


def test_samples_are_read_from_the_file_that_the_row_names(tmp_path: Path) -> None:
    samples = np.linspace(0.001, 0.002, 7)
    numbers = {"timing": TIMING, "series": keep(tmp_path, {"compute": samples})}
    series = Measured(deployed(numbers), tmp_path).series
    assert list(series) == ["compute"] and repr(series) == "<series: compute (7)>"
    np.testing.assert_array_equal(series["compute"], samples)


def test_a_model_that_is_wrong_has_no_times_to_test() -> None:
    with pytest.raises(NotDeployed, match="mismatch: out0: E 1"):
        Measured(deployed({"timing": TIMING}, result=Result.FAILED), Path())
