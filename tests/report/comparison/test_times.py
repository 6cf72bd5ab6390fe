"""Which seconds of two stored runs are compared, and when there is no answer."""

from __future__ import annotations

import pytest

from bench_plugin.domain.thresholds import FASTER, SAME, SLOWER, TOO_NOISY
from bench_plugin.report.comparison.times import IN_TURN, STORED, TimeChange
from tests.report.comparison.runs import BASE_RUN, LAUNCHES, between, timed
from tests.report.made import Row

LEAST = (0.9e-3, 0.901e-3, 0.899e-3, 0.9e-3, 0.9005e-3)


def minima(row: Row, factor: float) -> Row:
    """The row with the least seconds of every launch too."""
    row["numbers"]["timing"]["compute"]["launch_minima"] = [one * factor for one in LEAST]
    return row


def only(before: Row, after: Row) -> TimeChange:
    [found] = between(before, after).times
    return found


def test_the_least_seconds_of_launches_are_compared_where_both_runs_have_them() -> None:
    found = only(minima(timed(), 1.0), minima(timed(1.3), 1.0))
    assert found.verdict == SAME and found.d == pytest.approx(0.0, abs=1e-3), "the medians alone would be slower"
    assert found.before == pytest.approx(1.0e-3) and found.after == pytest.approx(1.3e-3)
    assert only(minima(timed(), 1.0), minima(timed(), 0.5)).verdict == FASTER


@pytest.mark.parametrize("side", [0, 1])
def test_else_the_medians_of_launches_are(side: int) -> None:
    rows = [timed(), timed(1.3)]
    minima(rows[side], 1.0)
    found = only(*rows)
    assert found.verdict == SLOWER and found.d == pytest.approx(0.262, abs=1e-2) and found.how == STORED


def test_two_launches_on_each_side_are_the_least() -> None:
    for before, after in ((1, 2), (2, 1), (1, 1)):
        found = only(timed(launches=LAUNCHES[:before]), timed(launches=LAUNCHES[:after]))
        assert (found.verdict, found.d) == (TOO_NOISY, None)
        assert found.reason == f"{before} and {after} launches; two on each side are the least"
    assert only(timed(launches=LAUNCHES[:2]), timed(launches=LAUNCHES[:2])).d is not None


@pytest.mark.parametrize("side", [0, 1])
def test_a_cell_that_one_run_did_not_time_has_no_change_of_time(side: int) -> None:
    rows = [timed(), timed(1.3)]
    rows[side]["numbers"]["timing"]["compute"] = {"median": None}
    assert between(*rows).times == ()


def test_what_was_measured_in_turn_with_this_very_base_counts_and_keeps_its_reason() -> None:
    said: Row = {
        "run": BASE_RUN, "verdict": TOO_NOISY, "d": 0.02, "half_width": 0.05, "effect": 0.03, "launches": 7,
        "base": {"median": 0.004}, "head": {"median": 0.005}, "reason": "the interval is too wide",
    }  # fmt: skip
    found = only(timed(), timed(1.3, against=said))
    assert (found.how, found.verdict, found.reason) == (IN_TURN, TOO_NOISY, "the interval is too wide")
    assert (found.before, found.after, found.launches, found.effect) == (0.004, 0.005, (7, 7), 0.03)
    for other in ({"run": "another"}, {"d": None}):
        assert only(timed(), timed(1.3, against=said | other)).how == STORED


def test_whether_the_same_bytes_were_timed_is_known_only_where_both_have_a_digest() -> None:
    assert only(timed(), timed()).same_artefact is True
    assert only(timed(), timed(artefact="beef")).same_artefact is False
    without = timed() | {"artefacts": {"model.onnx": {"nodes": 3}, "note": "sha256"}}
    assert only(without, timed()).same_artefact is None and only(without, without).same_artefact is None
