"""Turns of a deployed model: what is timed, and plans that are refused."""

from __future__ import annotations

import pytest

from bench_plugin.agent.toolkit.calibration import Calibration
from bench_plugin.agent.toolkit.turns import TurnPlan, turn


class Clock:
    """A clock that moves only when somebody works, by a nanosecond at each look."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += 1
        return self.now


def test_a_sample_is_the_mean_over_its_inferences_of_the_samples_in_turn() -> None:
    clock, called = Clock(), []

    def invoke(name: str, took: int) -> None:
        called.append(name)
        clock.now += took

    pair = [lambda: invoke("a", 1000), lambda: invoke("b", 3000)]
    seconds = turn(pair, TurnPlan(calls=2, inner=3), clock)
    assert called == ["a", "b", "a", "b", "a", "b"]
    assert list(seconds) == pytest.approx([5001 / 3e9, 7001 / 3e9])


def test_busy_time_lies_inside_the_timed_region_of_each_inference() -> None:
    clock = Clock()
    plain, busy = (turn([lambda: None], TurnPlan(1, 4, nanoseconds), clock)[0] for nanoseconds in (0, 500))
    assert busy - plain == pytest.approx(500e-9, rel=0.02)


@pytest.mark.parametrize(
    "meta", [{}, {"calls": 0}, {"calls": True}, {"calls": 1, "inner": -1}, {"calls": 1, "busy": "x"}]
)
def test_a_plan_that_is_not_valid_is_refused(meta: dict[str, object]) -> None:
    if not meta:
        assert TurnPlan.of(meta) == TurnPlan(1)
        return
    with pytest.raises(ValueError, match="a whole number from"):
        TurnPlan.of(meta)


def test_the_calibration_is_the_fastest_round_and_says_what_was_done() -> None:
    found = Calibration()
    found.take(3)
    said = found.said()
    assert 1e-6 < float(str(said["seconds"])) < 1 and said["workload"] and said["python"]
