"""Measuring in turn: coverage, false alarms and detections on made launches, and when measuring ends."""

from __future__ import annotations

import numpy as np
import pytest

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
        (0.03, 0.01, 0.03, "same"), (0.05, 0.05, 0.03, "same"),
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
    assert ORDER == ("base", "head", "head", "base", "base", "head", "head", "base")
    forward, back = [0, 1, 2, 3, 4, 5, 6, 7], [7, 6, 5, 4, 3, 2, 1, 0]
    assert [list(order_of(number)) for number in range(5)] == [forward, back, forward, back, forward]


def test_the_end_is_decided_by_width_and_seconds_alone() -> None:
    assert not enough(LEAST_ROUNDS - 1, 0.001)
    assert enough(LEAST_ROUNDS, 0.025) and not enough(LEAST_ROUNDS, 0.0251)
    assert enough(LEAST_ROUNDS, 0.08, effect=0.1)
    assert not over(1, 100.0, 100.0), "one round is no comparison"
    assert over(2, 8.0, 1.1) and not over(2, 8.0, 0.9)
    assert not over(2, 4.0, 5.0, most=10.0), "a round that ends with the last second is still within them"


def test_samples_are_those_of_launches() -> None:
    samples = Samples((BASE, HEAD, HEAD, BASE))
    for place, seconds in enumerate((1.0, 2.0, 4.0, 1.0)):
        samples.add(place, [100.0, seconds, 3 * seconds], dropped=1)
    assert list(np.exp(samples.values(HEAD))) == pytest.approx([2.0, 4.0])
    assert (samples.minimum(BASE), samples.median(BASE), samples.median(HEAD)) == (1.0, 2.0, 6.0)


def test_every_call_of_every_turn_of_a_launch_counts_unless_it_is_dropped() -> None:
    samples = Samples((BASE, HEAD))
    for calls in ([1.0, 5.0], [6.0, 7.0]):
        samples.add(0, calls)
    assert (samples.minimum(BASE), samples.median(BASE)) == (1.0, 5.5)


@pytest.mark.parametrize(("effect", "said"), [(0.03, "slower"), (0.2, "same")])
def test_launches_are_compared_with_the_effect_that_is_asked_for(effect: float, said: str) -> None:
    samples = Samples((BASE, HEAD, HEAD, BASE))
    for place, seconds in enumerate((1.0, 1.1, 1.1, 1.0)):
        samples.add(place, [seconds])
    found = samples.compared(effect)
    assert found.verdict == said and found.half_width == 0.0 and found.d == pytest.approx(np.log(1.1))


@pytest.mark.parametrize(
    ("base", "head", "d", "half_width"),
    [
        # Variances of 1 and 11/3 in launches, and Student's t of 5 and of 2 degrees of freedom.
        ([0.0, 1.0, 2.0], [5.0, 5.0, 7.0, 9.0], 5.5, 2.571 * (1 / 3 + 11 / 12) ** 0.5),
        ([5.0, 5.0, 7.0, 9.0], [0.0, 1.0, 2.0], -5.5, 2.571 * (1 / 3 + 11 / 12) ** 0.5),
        ([0.0, 2.0], [3.0, 3.0], 2.0, 4.303),
    ],
)
def test_the_half_width_is_students_of_the_launches_of_both_sides(
    base: list[float], head: list[float], d: float, half_width: float
) -> None:
    found = compared(np.array(base), np.array(head))
    assert found.d == d and found.half_width == pytest.approx(half_width)


def test_launches_that_differ_much_are_too_noisy_for_a_small_effect_and_not_for_a_large_one() -> None:
    base, head = np.array([0.0, 0.02, 0.04, 0.06]), np.array([0.04, 0.06, 0.08, 0.10])
    assert compared(base, head, 0.02).verdict == "too noisy to say"
    assert compared(base, head, 0.05).verdict == "same"


@pytest.mark.parametrize(
    ("seconds", "turn"),
    [
        (4e-6, Turn(10, 1, 251)), (50e-6, Turn(10, 1, 1)), (0.02, Turn(5, 0, 1)),
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
