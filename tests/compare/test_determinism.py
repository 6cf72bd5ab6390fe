"""Figures of determinism: equal bits over runs, tails of latency, and spread over launches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.times.determinism import across, moved, over_launches, over_positions, tails


def test_runs_with_equal_bits_are_identical_and_others_are_grouped() -> None:
    assert across({"1": "a", "2": "a"}) == {"compared": 2, "identical": True}
    assert across({"1": "a", "2": "b", "4": "b"}) == {
        "compared": 3, "identical": False, "groups": [["1"], ["2", "4"]],
    }  # fmt: skip
    assert across({"1": "a"}) == {"compared": 1}, "one run says nothing"
    assert across({}) == {"compared": 0}


def test_tails_are_ratios_to_the_median_by_nearest_rank() -> None:
    singles = np.full(1000, 2.0)
    singles[:10] = 10.0
    assert tails(singles) == {"max_p50": 5.0, "p99_p50": 1.0}
    singles[10] = 6.0
    assert tails(singles) == {"max_p50": 5.0, "p99_p50": 3.0}


def test_a_99th_percentile_needs_a_thousand_samples() -> None:
    assert tails(np.full(999, 2.0)) == {"max_p50": 1.0}
    assert tails(np.array([0.001, 0.002, 0.004])) == {"max_p50": 2.0}, "seconds of a fast model"
    assert tails(np.zeros(0)) == tails(np.zeros(5)) == {}


def test_spread_over_launches_is_a_share_of_their_mean() -> None:
    assert over_launches([9.0, 10.0, 11.0]) == pytest.approx({"sd": 0.1, "range": 0.2})
    assert over_launches([9.0, 11.0]) == pytest.approx({"sd": 0.02**0.5, "range": 0.2}), "two are enough"
    assert over_launches([9.0]) == over_launches([]) == over_launches([0.0, 0.0]) == {}


def test_bits_are_compared_sample_by_sample_at_another_position_of_the_batch() -> None:
    values = {"out0": np.arange(12, dtype=np.float32).reshape(6, 2), "out1": np.full((6,), np.nan)}
    there = moved(values, 3)
    assert there["out0"][:, 0].tolist() == [4, 0, 2, 10, 6, 8]
    assert over_positions(values, there, 3) == {"compared": 6, "identical": True}, "bits, so that NaN equals NaN"
    there["out0"][0, 1] = -1
    assert over_positions(values, there, 3) == {"compared": 6, "identical": False, "differ": 1}
    shorter = {"out0": there["out0"][:3], "out1": there["out1"][:3]}
    assert over_positions(values, shorter, 3) == {}, "other rows"
    assert over_positions({"out0": np.zeros((5, 2))}, {"out0": np.zeros((5, 2))}, 3) == {}, "not a row for each sample"
    assert over_positions({}, {}, 3) == {}


@pytest.mark.parametrize(
    ("outputs", "batch"),
    [
        pytest.param({"sum": np.float32(3.0)}, 1, id="a scalar"),
        pytest.param({"out": np.zeros((1, 2)), "sum": np.float32(3.0)}, 1, id="a scalar beside rows"),
        pytest.param({"out": np.zeros((6, 2)), "other": np.zeros((3, 2))}, 3, id="outputs with other numbers of rows"),
        pytest.param({"out": np.zeros((0, 2))}, 3, id="no rows"),
    ],
)
def test_outputs_without_a_row_for_each_sample_say_nothing_of_positions(outputs: dict[str, Any], batch: int) -> None:
    assert over_positions(outputs, outputs, batch) == {}


def test_launches_that_came_in_single_precision_are_reckoned_with_in_double() -> None:
    single: Any = np.random.default_rng(1).normal(1.0, 0.1, 20).astype(np.float32)
    assert over_launches(single) == over_launches(single.astype(np.float64))
