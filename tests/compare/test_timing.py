"""Statistics of times: each rule on arrays made by hand, and what holds for any samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_plugin.compare.times.timing import (
    OVER_LAUNCHES,
    WITHIN_RUN,
    Interval,
    autocorrelation,
    drift,
    enough,
    interval,
    over_launches,
    percentiles,
    spread,
    student_t,
    within_run,
)

SECONDS = st.floats(1e-7, 10.0)
SAMPLES = st.lists(SECONDS, min_size=1, max_size=60)


def test_the_interval_over_launches_is_students() -> None:
    found = over_launches([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.kind == OVER_LAUNCHES and found.centre == 3.0
    assert found.high - found.centre == pytest.approx(2.776 * np.std([1, 2, 3, 4, 5], ddof=1) / 5**0.5)
    assert found.half_width == pytest.approx((found.high - 3.0) / 3.0)


def test_one_launch_has_an_interval_within_its_run_that_says_so() -> None:
    samples = np.random.default_rng(1).normal(1.0, 0.1, 500)
    found = interval([float(np.median(samples))], samples)
    assert found.kind == WITHIN_RUN and found.plain()["kind"] == "within-run"
    assert found.low < np.median(samples) < found.high and found.half_width < 0.05
    assert interval([1.0, 1.1], samples).kind == OVER_LAUNCHES


def test_blocks_of_neighbours_widen_the_interval_of_samples_that_hang_together() -> None:
    rng = np.random.default_rng(2)
    apart = rng.normal(1.0, 0.1, 1000)
    together = np.repeat(rng.normal(1.0, 0.1, 100), 10)
    assert within_run(together).half_width > 1.7 * within_run(apart).half_width


def test_an_interval_in_a_row_has_its_seconds_its_width_as_a_share_and_what_was_replicated() -> None:
    assert Interval(4.0, 3.0, 5.0, OVER_LAUNCHES).plain() == {
        "centre": 4.0, "low": 3.0, "high": 5.0, "half_width": 0.25, "kind": "over launches", "confidence": 0.95,
    }  # fmt: skip


def test_a_thousand_samples_are_drawn_in_blocks_of_ten_neighbours() -> None:
    tens, hundreds = within_run(np.arange(1000.0) % 10), within_run(np.arange(1000.0) % 100)
    assert tens.low == tens.centre == tens.high == 4.5, "every block has each value once"
    assert hundreds.low < 45 and hundreds.high > 54, "every block has a tenth of the values"


@pytest.mark.parametrize(
    ("samples", "low", "high"),
    [
        # Blocks are (1, 2), (2, 3) and (3, 4): a ninth of the draws has the first one twice, another the last one.
        pytest.param([1, 2, 3, 4], 1.5, 3.5, id="the last sample is no neighbour of the first"),
        # 4 % of the draws have a median below 2, and 1.9 % of those of 33 samples: only the former is within 95 %.
        pytest.param([1, 1, 2, 2, 2, 2, 2, 2], 1.0, 2.0, id="what comes more often than one time in forty is in it"),
        pytest.param([1] * 8 + [2] * 25, 2.0, 2.0, id="what comes less often is not"),
    ],
)
def test_the_interval_within_a_run_has_all_but_a_fortieth_of_the_medians_on_each_side(
    samples: list[float], low: float, high: float
) -> None:
    found = within_run(np.array(samples, dtype=float))
    assert (found.low, found.high, found.centre) == (low, high, float(np.median(samples)))


def test_the_same_samples_have_the_same_interval_unless_another_seed_is_asked_for() -> None:
    samples = np.random.default_rng(4).normal(1.0, 0.1, 200)
    assert within_run(samples) == within_run(samples, seed=0) != within_run(samples, seed=1)


def test_intervals_of_too_little_say_what_is_missing() -> None:
    with pytest.raises(ValueError, match=r"^1 launches; a t interval needs at least 2$"):
        over_launches([1.0])
    with pytest.raises(ValueError, match=r"^no samples$"):
        within_run(np.zeros(0))


@pytest.mark.parametrize("statistic", [over_launches, within_run, spread, drift, autocorrelation])
def test_samples_that_came_in_single_precision_are_reckoned_with_in_double(statistic: Callable[[Any], Any]) -> None:
    single = np.random.default_rng(8).lognormal(0.0, 1.0, 20).astype(np.float32)
    assert statistic(single) == statistic(single.astype(np.float64))


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    covered = sum((found := over_launches(list(rng.normal(1.0, 0.01, 5)))).low < 1.0 < found.high for _ in range(600))
    assert 0.925 < covered / 600 < 0.975


@pytest.mark.parametrize(
    ("count", "names"),
    [
        (0, []), (1, ["p50"]), (99, ["p50"]), (100, ["p50", "p90"]), (999, ["p50", "p90"]),
        (1_000, ["p50", "p90", "p99"]), (9_999, ["p50", "p90", "p99"]), (10_000, ["p50", "p90", "p99", "p99.9"]),
    ],
)  # fmt: skip
def test_percentiles_are_stated_where_the_samples_carry_them(count: int, names: list[str]) -> None:
    assert list(percentiles(np.arange(count, dtype=float))) == names


def test_percentiles_are_samples_of_their_rank() -> None:
    found = percentiles(np.arange(1, 10_001, dtype=float))
    assert found == {"p50": 5000.0, "p90": 9000.0, "p99": 9900.0, "p99.9": 9990.0}


@given(SAMPLES)
def test_percentiles_are_among_the_samples_and_in_order(values: list[float]) -> None:
    found = list(percentiles(np.array(values * 100)).values())
    assert found == sorted(found) and set(found) <= set(values)


@given(st.lists(SECONDS, min_size=2, max_size=20), st.floats(0.1, 1000.0))
def test_an_interval_has_the_unit_of_its_samples(values: list[float], factor: float) -> None:
    one, other = over_launches(values), over_launches([value * factor for value in values])
    assert other.centre == pytest.approx(one.centre * factor)
    assert other.half_width == pytest.approx(one.half_width, abs=1e-9)
    assert one.low <= one.centre <= one.high


@given(SAMPLES)
def test_an_interval_within_a_run_lies_between_its_samples_and_comes_again(values: list[float]) -> None:
    samples = np.array(values)
    found = within_run(samples)
    assert samples.min() <= found.low <= found.high <= samples.max()
    assert found == within_run(samples)


def test_drift_is_the_change_over_the_run_and_no_outlier_is_one() -> None:
    assert drift([1.0, 1.1, 1.2, 1.3, 1.4]) == pytest.approx(0.4 / 1.2)
    assert drift([1.0, 1.0, 9.0, 1.0, 1.0, 1.0]) == 0.0
    assert drift([1.0, 2.0, 2.0, 10.0]) == pytest.approx(3.0), "slopes of 0, 0.5, 1, 3, 4 and 8 over three blocks"
    assert drift([1.0, 2.0]) is None


@given(st.lists(SECONDS, min_size=3, max_size=20))
def test_drift_turns_with_the_order(values: list[float]) -> None:
    there, back = drift(values), drift(values[::-1])
    assert there is not None and back is not None and there == pytest.approx(-back, abs=1e-12)


def test_autocorrelation_tells_what_alternates_from_what_hangs_together() -> None:
    assert autocorrelation(np.array([1.0, 2.0] * 50)) == pytest.approx(-0.99)
    assert autocorrelation(np.repeat([1.0, 2.0], 50)) == pytest.approx(0.97, abs=0.01)
    assert autocorrelation(np.array([1.0, 1.0, 4.0])) == pytest.approx(-1 / 6), "three samples are enough"
    assert autocorrelation(np.array([1e-3, 2e-3] * 50)) == pytest.approx(-0.99), "milliseconds as well as seconds"
    assert autocorrelation(np.ones(50)) is None and autocorrelation(np.ones(2)) is None


@given(st.lists(SECONDS, min_size=3, max_size=60))
def test_autocorrelation_is_a_correlation(values: list[float]) -> None:
    found = autocorrelation(np.array(values))
    assert found is None or -1.0 - 1e-9 <= found <= 1.0 + 1e-9


def test_the_spread_is_not_that_of_an_outlier() -> None:
    assert spread(np.array([1.0, 2.0, 3.0, 4.0, 1000.0])) == 1.0
    assert spread(np.array([])) == 0.0


def test_launches_end_when_the_interval_is_narrow_and_not_before_there_are_five() -> None:
    assert not enough([1.0] * 4, least=5, wanted=0.02)
    assert enough([1.0] * 5, least=5, wanted=0.02)
    assert not enough([1.0, 1.1, 1.0, 1.1, 1.0], least=5, wanted=0.02)
    assert enough([1.0] * 2, least=2, wanted=0.02), "two have an interval"
    assert enough([1.0] * 5, least=5, wanted=0.0), "exactly as narrow as is wanted"
    assert not enough([], least=0, wanted=0.02) and not enough([1.0], least=0, wanted=0.02)


def test_quantiles_of_t_fall_towards_the_normal_one() -> None:
    values = [student_t(freedom) for freedom in range(1, 200)]
    assert values == sorted(values, reverse=True) and values[0] == 12.706
    assert student_t(30) == 2.042 and student_t(40) == pytest.approx(2.021, abs=3e-3)
    assert student_t(10**6) == pytest.approx(1.96, abs=1e-3)
    with pytest.raises(ValueError, match="degrees of freedom"):
        student_t(0)
