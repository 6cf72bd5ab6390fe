"""Two stored runs: launches exchanged between the sides, and the drift of the machine taken out."""

from __future__ import annotations

import numpy as np
import pytest

from bench_plugin.compare.times import stored

BASE, HEAD = [1.0, 1.01, 0.99, 1.0], [1.1, 1.11, 1.09, 1.1]  # head takes a tenth more, and launches differ by 1 %


def test_stored_launches_are_exchanged_between_the_sides() -> None:
    base, head = [1.0, 1.01, 0.99, 1.0, 1.005], [1.1, 1.11, 1.09, 1.1, 1.105]
    found = stored.compared(base, head)
    assert found.verdict == "slower" and found.p == pytest.approx(2 / 252)
    assert stored.compared(base[:3], head[:3]).verdict == "too noisy to say", "2 of 20 divisions: not enough"
    assert stored.exchanged(np.log(base * 8), np.log(head * 8)) < 0.01


def test_what_the_calibration_is_unsure_of_widens_the_interval() -> None:
    sure = stored.compared(BASE, HEAD, base_calibration=[1.0] * 4, head_calibration=[1.1] * 4)
    unsure = stored.compared(BASE, HEAD, base_calibration=[1.0, 1.2, 0.8, 1.0], head_calibration=[1.1] * 4)
    assert sure.verdict == "same" and sure.d == pytest.approx(0.0, abs=1e-4)
    assert unsure.half_width > 2 * sure.half_width


def test_a_drift_that_the_calibration_saw_is_stated_and_taken_out_of_the_exchanged_launches_too() -> None:
    found = stored.compared(BASE, HEAD, base_calibration=[1.0] * 2, head_calibration=[1.1] * 2)
    assert found.drift == pytest.approx(np.log(1.1))
    assert found.p > 0.5, "without the drift they are the same"


@pytest.mark.parametrize("calibrations", [0, 1])
def test_a_calibration_of_less_than_two_launches_does_not_count(calibrations: int) -> None:
    few, many = [2.0] * calibrations, [1.0] * 4
    for before, after in ((few, many), (many, few)):
        found = stored.compared(BASE, HEAD, base_calibration=before, head_calibration=after)
        assert found == stored.compared(BASE, HEAD) and found.drift is None


def test_a_machine_that_changed_by_more_than_a_quarter_is_no_ground_for_a_verdict() -> None:
    slower = [2 * one for one in HEAD]
    for factor, said in ((1.2, "slower"), (1.5, "too noisy to say"), (0.7, "too noisy to say")):
        found = stored.compared(BASE, slower, base_calibration=[1.0] * 4, head_calibration=[factor] * 4)
        assert found.verdict == said, factor


@pytest.mark.parametrize(
    ("base", "head", "effect", "said"),
    [
        pytest.param(BASE, HEAD, 0.03, "slower", id="a tenth is more than 3 %"),
        pytest.param(BASE, HEAD, 0.2, "same", id="a tenth is less than a fifth"),
        pytest.param([1.0, 1.2, 0.8, 1.0], [1.02, 1.22, 0.82, 1.02], 0.03, "too noisy to say", id="launches differ"),
    ],
)
def test_the_verdict_on_stored_runs_is_of_the_effect_and_of_how_much_launches_differ(
    base: list[float], head: list[float], effect: float, said: str
) -> None:
    assert stored.compared(base, head, effect=effect).verdict == said


def test_one_division_in_twenty_is_rare_enough_for_a_verdict() -> None:
    found = stored.compared([1.01, 1.03, 1.02], [1.03, 1.06, 1.1, 1.07, 1.03, 1.09, 1.09])
    assert found.p == 0.05 == 6 / 120 and found.verdict == "slower"


def test_the_same_runs_have_the_same_probability_unless_another_seed_is_asked_for() -> None:
    rng = np.random.default_rng(1)
    base, head = list(rng.normal(1.0, 0.02, 8)), list(rng.normal(1.01, 0.02, 8))
    found = stored.compared(base, head)
    assert found == stored.compared(base, head, seed=0)
    assert (
        found.p == stored.exchanged(np.log(base), np.log(head)) == stored.exchanged(np.log(base), np.log(head), seed=0)
    )
    assert found.p != stored.compared(base, head, seed=1).p
    assert found.p != stored.exchanged(np.log(base), np.log(head), seed=1)


def test_two_thousand_divisions_are_few_enough_to_try_all_of_them() -> None:
    assert stored.exchanged(np.ones(1), np.zeros(1999)) == 1 / 2000


def test_seconds_that_came_in_single_precision_are_reckoned_with_in_double() -> None:
    single = [np.array(one, dtype=np.float32) for one in (BASE, HEAD, [1.0, 1.01], [1.1, 1.12])]
    found, expected = (
        stored.compared(base, head, base_calibration=before, head_calibration=after)  # type: ignore[arg-type]
        for base, head, before, after in (single, [one.astype(np.float64) for one in single])
    )
    assert found == expected
