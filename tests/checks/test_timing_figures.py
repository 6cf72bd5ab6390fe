"""What a row says of hand-made launches: figures that are not mixed, and those that are absent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench_plugin.checks.performance import machine_load
from bench_plugin.checks.performance.effort import FULL, QUICK, SMOKE, effort
from bench_plugin.checks.performance.figures import figures, series
from bench_plugin.checks.performance.launches import Launch, Launches
from bench_plugin.checks.performance.requests import Requests
from bench_plugin.checks.performance.rotation import rotating
from bench_plugin.pipeline.array_sets import ArraySet
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks.subjects import InputSet

LOAD = machine_load.Load(0.01, 0.5, 0.1)
NONE = np.empty(0)


def launch(median: float, *, system: float = 0.0, handshake: float = 0.0, count: int = 300, **more: Any) -> Launch:
    said = {
        "median": median, "mean": median, "inner": 1, "settled": True, "warmup_blocks": 5, "block_samples": [30] * 10,
        "block_medians": [median] * 10, "first_inference": 50 * median, "caps": [], "per_second": 0.9 / median,
        "bare_ratio": 1.001, "clock": {"cost": 5e-8, "resolution": 1e-9}, "inputs": 64, "set": {"allocator": "libc"},
    }  # fmt: skip
    arrays = {"series:compute": np.full(count, median), "out0": np.ones(3)}
    requests = Requests(np.full(20, system) if system else NONE, np.full(20, handshake) if handshake else NONE, "calls")
    return Launch(Done(failure=None, meta={"time": {"timing": said | more}}, arrays=arrays), requests)


def row(*launches: Launch, caps: tuple[str, ...] = ()) -> dict[str, Any]:
    return figures(Launches(launches, LOAD, caps), threads=2, seed=7)


def test_compute_system_and_handshake_are_three_figures() -> None:
    found = row(*(launch(0.001, system=0.004, handshake=0.003) for _ in range(5)))
    assert (found["compute"]["median"], found["system"]["median"], found["handshake"]["median"]) == (
        pytest.approx(0.001), pytest.approx(0.004), pytest.approx(0.003),
    )  # fmt: skip
    assert "handshake" not in row(launch(0.001, system=0.004)) and "system" not in row(launch(0.001))


def test_the_interval_is_over_launches_and_of_one_it_says_within_run() -> None:
    several = row(launch(0.001), launch(0.0011), launch(0.0012))
    assert several["interval"]["kind"] == "over launches" and several["launches"] == 3
    assert several["interval"]["centre"] == pytest.approx(0.0011)
    assert several["error_budget"]["spread_over_launches"] == pytest.approx(1 / 11)
    one = row(launch(0.001))
    assert one["interval"]["kind"] == "within-run" and one["error_budget"]["spread_over_launches"] is None


def test_percentiles_are_of_all_launches_together() -> None:
    assert "p99" not in row(launch(0.001))["percentiles"]
    assert set(row(*(launch(0.001) for _ in range(4)))["percentiles"]) == {"p50", "p90", "p99"}


def test_the_clock_is_shared_by_the_inferences_of_a_sample() -> None:
    budget = row(launch(5e-6, inner=100))["error_budget"]
    assert budget["clock_share"] == pytest.approx(1e-4) and budget["single_call_clock_share"] == pytest.approx(1e-2)


def test_caps_are_said_once_whoever_reached_them() -> None:
    found = row(launch(0.001, caps=["short"]), launch(0.001, caps=["short"]), caps=("a cell has a cap of 12 s",))
    assert found["caps"] == ["short", "a cell has a cap of 12 s"]


def test_an_emulated_board_has_instructions_and_no_seconds() -> None:
    said = {"inputs": 64, "instructions": {"median": 1234, "min": 1234, "max": 1234, "n": 8}}
    counted = Launch(Done(failure=None, meta={"time": {"timing": said}}, arrays={"series:compute": NONE}))
    found = figures(Launches([counted], None), threads=1, seed=0)
    assert found["instructions"]["median"] == 1234
    assert not {"compute", "system", "handshake", "interval", "percentiles", "first_inference"} & set(found)
    assert "load_before" not in found["conditions"] and series(Launches([counted], None)) == {}


def test_throughput_counts_samples_of_all_streams_and_a_time_is_of_a_call() -> None:
    """Eight samples a call and four calls at once: the rate of calls is measured, never 1 / latency."""
    found = figures(Launches([launch(0.004, per_second=700.0)] * 2, LOAD), threads=1, seed=0, batch=8, streams=4)
    assert found["throughput"] == {"per_second": 5600.0, "kind": "closed loop", "clients": 4}
    assert found["compute"]["median"] == 0.004


def test_inputs_rotate_through_64_and_begin_with_those_of_the_verdict() -> None:
    x, n = np.arange(24, dtype=np.float32).reshape(8, 3) + 1, np.arange(8)
    own = InputSet(ArraySet(lambda: {"in:x": x, "in:n": n}), {}, batched=True)
    found = rotating(own, 64, 0).arrays()
    assert found["in:x"].shape == (64, 3) and found["in:x"].dtype == np.float32 and found["in:n"].shape == (64,)
    assert np.array_equal(found["in:x"][:8], x) and np.array_equal(found["in:n"], np.tile(n, 8))
    assert len(np.unique(found["in:x"], axis=0)) == 64
    assert np.allclose(found["in:x"][8:16], x, rtol=0.0501)
    assert np.array_equal(found["in:x"], rotating(own, 64, 0).arrays()["in:x"])
    once = InputSet(ArraySet(lambda: {"in:x": x}), {}, batched=True, once=True)
    assert rotating(once, 64, 0) is once


def test_a_quiet_machine_is_waited_for_as_long_as_it_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    said = iter([0.9, 0.5, 0.05])
    monkeypatch.setattr(machine_load, "busy_share", lambda seconds: next(said))
    assert machine_load.quiet(60.0).busy == 0.05
    monkeypatch.setattr(machine_load, "busy_share", lambda seconds: 0.9)
    assert machine_load.quiet(0.0).busy == 0.9
    monkeypatch.undo()
    share = machine_load.busy_share(0.01)
    assert share is None or 0.0 <= share <= 1.0


def test_a_launch_has_what_was_promised_of_warm_up_blocks_and_launches() -> None:
    for one in (QUICK, FULL):
        assert (one.launches, one.most_launches, one.half_width, one.inputs) == (5, 20, 0.02, 64)
        assert (one.blocks, one.block_seconds, one.block_samples) == (10, 0.1, 30)
    assert effort("quick") is QUICK and effort("full") is FULL and effort("smoke") is SMOKE
