"""Timing in the agent: the plan of blocks, what is timed and what is not, and the outputs of timed inferences.

The clock is made of the calls themselves, so that no test depends on how busy this machine is.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import Place, RunCall, TimeCall
from bench_plugin.agent.toolkit import samples, timing

COST = 40  # ns between two readings of the clock
US = 1000


class Model:
    """A model of the time that each call takes, in ns of a clock that only its calls and readings advance."""

    def __init__(self, seconds: Callable[[int], int]) -> None:
        self.now = 0
        self.calls = 0
        self.reads = 0
        self.seen: list[int] = []
        self._seconds = seconds
        self.collecting: set[bool] = set()

    def clock(self) -> int:
        self.now += COST
        return self.now

    def bind(self, xs: Sequence[Any]) -> Any:
        value = int(xs[0])
        self.now += 50_000_000  # binding is not timed, however long it takes

        def invoke() -> int:
            self.collecting.add(gc.isenabled())
            self.now += self._seconds(self.calls)
            self.calls += 1
            self.seen.append(value)
            return value

        def read(result: int) -> list[Any]:
            self.now += 10_000_000  # nor is what makes outputs of the result
            self.reads += 1
            return [np.array([result * 2.0])]

        return invoke, read


def plan(**fields: Any) -> TimeCall:
    return TimeCall(**{"batched": False, "sampled": 3, **fields})


def run(model: Model, call: TimeCall, count: int = 8) -> timing.Timed:
    return timing.timed(call, model.bind, [[np.array(value)] for value in range(count)], model.clock)


def test_a_block_takes_so_long_and_so_many_samples_and_there_are_ten() -> None:
    found = run(Model(lambda call: 1_000 * US), plan()).said
    assert found["inner"] == 1 and len(found["block_medians"]) == 10  # type: ignore[arg-type]
    assert set(found["block_samples"]) == {100}  # type: ignore[call-overload]  # 100 ms of 1 ms each
    slow = run(Model(lambda call: 20_000 * US), plan(seconds=60.0)).said
    assert set(slow["block_samples"]) == {30}  # type: ignore[call-overload]
    assert slow["caps"] == []


def test_only_the_runtimes_own_call_is_timed_and_the_clock_says_what_it_costs() -> None:
    found = run(Model(lambda call: 1_000 * US), plan())
    assert found.said["median"] == pytest.approx(1e-3, abs=1e-7)
    assert max(found.singles) < 1.001e-3
    assert found.said["clock"]["cost"] == pytest.approx(COST / 1e9)  # type: ignore[index]


def test_a_fast_model_is_timed_by_several_calls_and_then_by_single_ones() -> None:
    model = Model(lambda call: 4 * US)
    found = run(model, plan(seconds=2.0))
    inner = found.said["inner"]
    assert isinstance(inner, int) and inner * 4.1 >= 1000
    assert found.said["median"] == pytest.approx(4e-6, rel=1e-3)  # the clock's cost is shared by all calls of a sample
    assert found.singles[0] == pytest.approx(4e-6 + COST / 1e9)  # and is in each of the second pass
    assert len(found.singles) == timing.MOST_SINGLES


def test_the_first_inference_is_apart() -> None:
    found = run(Model(lambda call: 500_000 * US if call == 0 else 1_000 * US), plan())
    assert found.said["first_inference"] == pytest.approx(0.5, rel=1e-3)
    assert max(found.singles) < 2e-3


def test_the_warm_up_lasts_until_the_medians_show_no_trend() -> None:
    settling = Model(lambda call: max(1_000, 3_000 - 2 * call) * US)
    found = run(settling, plan(warmup_seconds=60.0)).said
    assert found["settled"] is True and found["warmup_blocks"] > 5  # type: ignore[operator]
    assert found["median"] == pytest.approx(1e-3, rel=0.01)
    steady = run(Model(lambda call: 1_000 * US), plan()).said
    assert steady["warmup_blocks"] == 5


def test_a_warm_up_that_never_settles_ends_by_its_cap_and_says_so() -> None:
    found = run(Model(lambda call: (1_000 + call) * US), plan(warmup_seconds=2.0)).said
    assert found["settled"] is False
    assert any("warm-up" in cap and "2 s" in cap for cap in found["caps"])  # type: ignore[attr-defined]


def test_the_cap_of_a_launch_shortens_blocks_and_says_so() -> None:
    found = run(Model(lambda call: 90_000 * US), plan(seconds=2.0)).said
    assert set(found["block_samples"]) == {2}  # type: ignore[call-overload]
    assert any("cap of 2 s" in cap for cap in found["caps"])  # type: ignore[attr-defined]


def test_inputs_rotate_and_outputs_are_those_of_timed_inferences() -> None:
    model = Model(lambda call: 1_000 * US)
    found = run(model, plan(), count=64)
    assert set(model.seen) == set(range(64))
    assert [float(one[0][0]) for one in found] == [0.0, 2.0, 4.0]
    assert found.said["inputs"] == 64 and found.said["sampled"] == 3
    assert model.reads < 20  # of a thousand inferences


def test_an_output_that_the_next_call_writes_over_is_read_before_it() -> None:
    buffer = np.zeros(1)

    def bind(xs: Sequence[Any]) -> Any:
        def invoke() -> Any:
            buffer[0] = xs[0]
            return buffer

        return invoke, lambda result: [result.copy()]

    ticking = Model(lambda call: 0)

    def clock() -> int:
        ticking.now += 500_000
        return ticking.now

    found = timing.timed(plan(sampled=4), bind, [[np.array(value)] for value in range(8)], clock)
    assert [float(one[0][0]) for one in found] == [0.0, 1.0, 2.0, 3.0]


def test_what_the_cap_leaves_out_is_called_for_its_outputs() -> None:
    model = Model(lambda call: 10_000_000 * US)
    found = run(model, plan(sampled=30, seconds=1.0), count=30)
    assert [float(one[0][0]) for one in found] == [2.0 * value for value in range(30)]


@pytest.mark.parametrize("before", [True, False])
def test_garbage_is_not_collected_meanwhile_and_the_setting_is_put_back(before: bool) -> None:
    model = Model(lambda call: 1_000 * US)
    was = gc.isenabled()
    (gc.enable if before else gc.disable)()
    try:
        found = run(model, plan())
        assert gc.isenabled() is before
    finally:
        (gc.enable if was else gc.disable)()
    assert False in model.collecting and found.said["set"]["gc"] is False  # type: ignore[index]


def test_outliers_are_kept() -> None:
    found = run(Model(lambda call: 90_000 * US if call % 100 == 99 else 1_000 * US), plan())
    assert max(found.singles) > 0.08


def test_the_ratio_to_a_bare_loop_is_the_clocks_cost_over_the_call() -> None:
    found = run(Model(lambda call: 100 * US), plan()).said
    assert found["bare_ratio"] == pytest.approx(1 + COST / 100_000, rel=1e-3)


@pytest.mark.parametrize(
    ("medians", "settled"),
    [
        ([1.0] * 4, False),
        ([1.0] * 5, True),
        ([5.0, 4.0, 3.0, 2.0, 1.0], False),
        ([1.0, 2.0, 3.0, 4.0, 5.0], False),
        ([9.0, 8.0, 1.00, 1.01, 1.00, 1.01, 1.00], True),
        ([1.0, 1.001, 1.002, 1.003, 1.004], True),  # below what matters
        ([1.0, 1.2, 1.1, 1.3, 1.2], True),
    ],
)
def test_a_trend_is_most_pairs_in_one_direction(medians: list[float], settled: bool) -> None:
    assert timing.no_trend(medians) is settled


X = np.arange(12, dtype=np.float32).reshape(6, 2)


def at(call: RunCall) -> Any:
    return call.at(Place("", {}, {"in:x": from_numpy(X)}, lambda stage: None))


def test_an_adapter_is_timed_by_the_function_that_runs() -> None:
    call = at(plan(batched=True, sampled=2, blocks=2, block_seconds=0.001, block_samples=2, seconds=0.01))
    reply = samples.answered(call, lambda xs: [xs[0] * 3], list(call.inputs.values()), {"own": 1})
    assert np.array_equal(to_numpy(reply.arrays["out0"]), X[:2] * 3)
    assert reply.meta["own"] == 1 and reply.meta["timing"]["inputs"] == 6  # type: ignore[index]
    series = to_numpy(reply.arrays["series:compute"])
    assert series.dtype == np.float64 and len(series) >= 2 and (series > 0).all()


def test_a_run_is_not_timed() -> None:
    call = at(RunCall(batched=True))
    reply = samples.answered(call, lambda xs: [xs[0]], list(call.inputs.values()))
    assert "timing" not in reply.meta and list(reply.arrays) == ["out0"]


def test_a_binding_of_an_adapters_own_is_used_for_times_only() -> None:
    used = []

    def bind(xs: list[Any]) -> Any:
        used.append(xs[0].shape)
        return (lambda: xs[0] * 2), lambda y: [y]

    fields = {"blocks": 1, "block_seconds": 0.0, "block_samples": 1, "seconds": 0.01}
    call = at(plan(batched=True, **fields))
    reply = samples.answered(call, lambda xs: [xs[0]], list(call.inputs.values()), None, bind)
    assert np.array_equal(to_numpy(reply.arrays["out0"]), X[:3] * 2) and used == [(1, 2)] * 6
    plain = at(RunCall(batched=True))
    samples.answered(plain, lambda xs: [xs[0]], list(plain.inputs.values()), None, bind)
    assert len(used) == 6


def busy(seconds: float, lock: Any = None) -> Callable[[Sequence[Any]], list[Any]]:
    """A model that takes so long; with a ``lock`` it answers one call at a time."""

    def model(xs: Sequence[Any]) -> list[Any]:
        with lock or nullcontext():
            time.sleep(seconds)
        return [np.asarray(xs[0]) * 2.0]

    return model


def streamed(count: int, lock: Any = None, **fields: Any) -> timing.Timed:
    call = plan(streams=count, blocks=2, block_seconds=0.1, block_samples=8, warmup_seconds=0.1, **fields)
    return timing.timed(call, timing.bound(busy(0.01, lock)), [[np.array(value)] for value in range(8)])


def test_streams_are_calls_at_the_same_time_whose_rate_is_measured() -> None:
    """A model that sleeps takes four calls at once: four times the rate, and the latency stays."""
    found = streamed(4).said
    assert found["per_second"] > 200, "one call at a time has a rate of 100 per second at most"  # type: ignore[operator]
    assert found["median"] >= 0.01 and found["bare_ratio"] is None and found["inner"] == 1  # type: ignore[operator]


def test_a_rate_is_never_streams_over_the_latency_of_one_call_alone() -> None:
    """A model that answers one call of 10 ms at a time has a rate of 100 per second, however many streams wait."""
    assert streamed(4, threading.Lock()).said["per_second"] <= 100.0  # type: ignore[operator]


def test_outputs_of_streams_are_those_of_their_own_inputs() -> None:
    assert [int(ys[0]) for ys in streamed(3, sampled=8)] == [0, 2, 4, 6, 8, 10, 12, 14]


def test_what_fails_in_a_stream_ends_all_of_them_and_is_raised() -> None:
    def model(xs: Sequence[Any]) -> list[Any]:
        if int(xs[0]) == 1 and threading.current_thread() is not threading.main_thread():
            raise RuntimeError("no session for a second thread")
        return [xs[0]]

    with pytest.raises(RuntimeError, match="no session for a second thread"):
        timing.timed(plan(streams=2), timing.bound(model), [[np.array(value)] for value in range(4)])
    with pytest.raises(ValueError, match="3 streams need as many inputs, there are 2"):
        timing.timed(plan(streams=3), timing.bound(model), [[np.array(value)] for value in range(2)])


def test_a_batch_of_samples_is_one_call_and_the_last_one_may_be_short() -> None:
    seen: list[tuple[int, ...]] = []

    def model(xs: Sequence[Any]) -> list[Any]:
        seen.append(xs[0].shape)
        return [xs[0] + 1.0]

    given = {"in:x": from_numpy(np.arange(20.0).reshape(10, 2))}
    call = RunCall(batched=True, batch=4).at(Place("", {}, given, lambda stage: None))
    reply = samples.answered(call, model, list(call.inputs.values()))
    assert seen == [(4, 2), (4, 2), (2, 2)]
    assert np.array_equal(to_numpy(reply.arrays["out0"]), np.arange(20.0).reshape(10, 2) + 1)
