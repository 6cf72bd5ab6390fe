"""Figures of determinism: equal bits over runs, tails of latency, and spread over launches."""

from __future__ import annotations

import numpy as np
import pytest

from bench_plugin.compare.times.determinism import across, over_launches, tails


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
    assert tails(np.zeros(0)) == tails(np.zeros(5)) == {}


def test_spread_over_launches_is_a_share_of_their_mean() -> None:
    assert over_launches([9.0, 10.0, 11.0]) == pytest.approx({"sd": 0.1, "range": 0.2})
    assert over_launches([9.0]) == over_launches([]) == over_launches([0.0, 0.0]) == {}
