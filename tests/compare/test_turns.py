"""Measuring in turn: coverage, false alarms and detections on made launches, and when measuring ends."""

from __future__ import annotations

import numpy as np
import pytest

from bench_plugin.compare.times import stored
from bench_plugin.compare.times.turns import (
    BASE,
    HEAD,
    LEAST_ROUNDS,
    ORDER,
    Samples,
    Turn,
    compared,
    enough,
    order_of,
    over,
    turn_of,
    verdict,
    welch,
)

TRIALS = 600


def launches(rng: np.random.Generator, slower: float = 0.0, spread: float = 0.008) -> tuple[np.ndarray, np.ndarray]:
    """Values of four launches a side, which differ by 0.8 % from launch to launch, as was measured."""
    return rng.normal(0.0, spread, 4), rng.normal(np.log1p(slower), spread, 4)


def test_the_interval_covers_what_it_should() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(TRIALS):
        d, half = welch(*launches(rng, 0.02))
        covered += abs(d - np.log1p(0.02)) <= half
    assert 0.93 <= covered / TRIALS <= 0.98


def test_false_alarms_and_detections_of_made_launches() -> None:
    rng = np.random.default_rng(2)
    same = [compared(*launches(rng)).verdict for _ in range(TRIALS)]
    slower = [compared(*launches(rng, 0.10)).verdict for _ in range(TRIALS)]
    assert sum(one in ("slower", "faster") for one in same) <= 0.01 * TRIALS
    assert slower.count("slower") >= 0.99 * TRIALS


def test_bursts_of_a_neighbour_are_no_alarm_because_the_minimum_counts() -> None:
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(100):
        samples = Samples()
        for number in range(LEAST_ROUNDS):
            for place in order_of(number):
                calls = 1e-3 * np.exp(rng.normal(0.0, 0.004, 10))
                calls[rng.random(10) < 0.3] *= 2.5
                samples.add(place, list(calls), dropped=1)
        alarms += samples.compared().verdict in ("slower", "faster")
    assert alarms == 0


@pytest.mark.parametrize(
    ("d", "half_width", "effect", "said"),
    [
        (0.10, 0.02, 0.03, "slower"), (-0.10, 0.02, 0.03, "faster"), (0.029, 0.01, 0.03, "same"),
        (0.04, 0.05, 0.03, "same"), (0.04, 0.051, 0.03, "too noisy to say"), (0.10, 0.051, 0.03, "slower"),
        (0.10, 0.02, 0.2, "same"), (0.10, 0.3, 0.2, "same"), (0.10, 0.34, 0.2, "too noisy to say"),
    ],
)  # fmt: skip
def test_verdicts(d: float, half_width: float, effect: float, said: str) -> None:
    assert verdict(d, half_width, effect) == said


def test_each_side_has_as_many_launches_and_its_mean_turn_is_in_the_middle() -> None:
    for number in (0, 1):
        places = list(order_of(number))
        assert sorted(places) == list(range(len(ORDER)))
        turns = {side: [at for at, place in enumerate(places) if ORDER[place] == side] for side in (BASE, HEAD)}
        assert np.mean(turns[BASE]) == np.mean(turns[HEAD]), "a linear drift is the same for both"
    assert list(order_of(1)) == list(reversed(list(order_of(0))))


def test_the_end_is_decided_by_width_and_seconds_alone() -> None:
    assert not enough(LEAST_ROUNDS - 1, 0.001)
    assert enough(LEAST_ROUNDS, 0.025) and not enough(LEAST_ROUNDS, 0.0251)
    assert enough(LEAST_ROUNDS, 0.08, effect=0.1)
    assert not over(1, 100.0, 100.0), "one round is no comparison"
    assert over(2, 8.0, 1.1) and not over(2, 8.0, 0.9)


def test_samples_are_those_of_launches() -> None:
    samples = Samples((BASE, HEAD, HEAD, BASE))
    for place, seconds in enumerate((1.0, 2.0, 4.0, 1.0)):
        samples.add(place, [100.0, seconds, 3 * seconds], dropped=1)
    assert list(np.exp(samples.values(HEAD))) == pytest.approx([2.0, 4.0])
    assert (samples.minimum(BASE), samples.median(BASE), samples.median(HEAD)) == (1.0, 2.0, 6.0)


@pytest.mark.parametrize(
    ("seconds", "turn"),
    [
        (1e-3, Turn(10, 1, 1)), (0.0105, Turn(10, 1, 1)), (0.03, Turn(3, 0, 1)), (0.1, Turn(1, 0, 1)),
        (2.0, Turn(1, 0, 1)),
    ],
)  # fmt: skip
def test_slow_models_get_fewer_calls_per_turn(seconds: float, turn: Turn) -> None:
    assert turn_of(seconds) == turn
    assert turn_of(4e-6).inner * 4e-6 >= 1e-3


def test_a_comparison_needs_two_launches_a_side() -> None:
    with pytest.raises(ValueError, match="two on each side"):
        welch(np.zeros(1), np.zeros(4))


def test_stored_launches_are_exchanged_between_the_sides() -> None:
    base, head = [1.0, 1.01, 0.99, 1.0, 1.005], [1.1, 1.11, 1.09, 1.1, 1.105]
    found = stored.compared(base, head)
    assert found.verdict == "slower" and found.p == pytest.approx(2 / 252)
    assert stored.compared(base[:3], head[:3]).verdict == "too noisy to say", "2 of 20 divisions: not enough"
    assert stored.exchanged(np.log(base * 8), np.log(head * 8)) < 0.01


def test_what_the_calibration_is_unsure_of_widens_the_interval() -> None:
    base, head = [1.0, 1.01, 0.99, 1.0], [1.1, 1.11, 1.09, 1.1]
    sure = stored.compared(base, head, base_calibration=[1.0] * 4, head_calibration=[1.1] * 4)
    unsure = stored.compared(base, head, base_calibration=[1.0, 1.2, 0.8, 1.0], head_calibration=[1.1] * 4)
    assert sure.verdict == "same" and sure.d == pytest.approx(0.0, abs=1e-4)
    assert unsure.half_width > 2 * sure.half_width
