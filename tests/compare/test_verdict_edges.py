"""The verdict on a run at its limits: what each kind of verdict says, and the figures of its row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.noise import Noise, tolerance
from bench_plugin.compare.table import DEFAULTS, with_overrides
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED, Comparison, Rule, compare, unverified
from bench_plugin.domain.outcome import Unverified
from tests.compare.drawing import Array, drawn

NOISE = Noise(E=1e-6, M=5e-6, runs=3)


def judged(truth: Array, actual: Array, noise: Noise = NOISE, **options: Any) -> Comparison:
    return compare({"y": truth}, {"out0": actual}, {"y": noise}, **options)


def of_scale_one(error: float) -> tuple[Array, Array]:
    """A truth whose changes over the inputs have the norm 2 and the root mean square 1, and a run: E = M = error."""
    truth = np.array([[1.0, -1.0], [-1.0, 1.0]])
    return truth, truth + error * np.array([[1.0, 1.0], [1.0, 1.0]])


def test_a_comparison_that_proves_nothing_says_all_it_was_told() -> None:
    found = unverified(Unverified.BLOCKED, "no file", {"E": 1.0}, ("ftz",))
    assert found == Comparison(UNVERIFIED, "no file", {"E": 1.0}, ("ftz",), Unverified.BLOCKED)
    assert unverified(Unverified.BLOCKED, "no file") == Comparison(UNVERIFIED, "no file", {}, (), Unverified.BLOCKED)


def test_the_figures_of_the_row() -> None:
    truth, run = of_scale_one(3e-6)
    found = judged(truth, run)
    [row] = found.numbers["outputs"]
    assert {key: row[key] for key in ("name", "status", "noise_E", "noise_M", "elements", "nan", "inf")} == {
        "name": "y", "status": AGREE, "noise_E": 1e-6, "noise_M": 5e-6, "elements": 4, "nan": 0, "inf": 0,
    }  # fmt: skip
    assert (row["tolerance_E"], row["tolerance_M"]) == (pytest.approx(1e-5), pytest.approx(1e-4))
    assert (row["E"], row["M"], row["max_abs"]) == (pytest.approx(3e-6), pytest.approx(3e-6), pytest.approx(3e-6))
    assert row["max_rel"] == pytest.approx(3e-6) and row["cosine"] == pytest.approx(1)
    assert row["needed"] == pytest.approx(0.3)
    for key in ("E", "M", "tolerance_E", "tolerance_M", "noise_E", "noise_M", "max_abs", "max_rel", "cosine", "needed"):
        assert found.numbers[key] == row[key]


def test_what_is_needed_is_the_worse_of_both_distances() -> None:
    truth, run = of_scale_one(3e-6)
    strict = judged(truth, run, Noise(1e-6, 1e-9, 3))  # on M the floor: 8 x 4e-6
    assert strict.numbers["needed"] == pytest.approx(0.3)
    alone = truth.copy()
    alone[0, 0] += 6e-5  # E is half of M
    found = judged(truth, alone, Noise(4e-6, 1e-9, 3))
    assert (found.numbers["tolerance_E"], found.numbers["tolerance_M"]) == (pytest.approx(4e-5), pytest.approx(3.2e-5))
    assert found.status == MISMATCH and found.numbers["needed"] == pytest.approx(6 / 3.2, rel=1e-4)
    assert found.reason == "y: M 6.00e-05 > 3.20e-05 (noise 4.0e-06, max abs 6.00e-05)"


def test_exactly_at_the_tolerance_agrees() -> None:
    truth, run = np.array([[2.0, -2.0], [-2.0, 2.0]]), np.array([[2.5, -2.0], [-2.0, 2.0]])  # E = 1/8, M = 1/4
    twice = with_overrides(k=2)
    at_e, at_m = Noise(0.125 / 2, 1.0, 1), Noise(0.1, 0.25 / 4, 1)
    for noise in (at_e, at_m):
        limit = tolerance(noise, twice.row("bf16"))
        found = judged(truth, run, noise, precision="bf16", table=twice)
        assert 0.125 in (limit.E, found.numbers["E"]) and found.numbers["M"] == 0.25
        assert found.status == AGREE and found.reason == "", noise
    for noise, text in (
        (Noise(0.0624, 1.0, 1), "y: E 1.25e-01 > 1.25e-01 ("),
        (Noise(0.1, 0.0624, 1), "y: M 2.50e-01 > 2.50e-01 ("),
        (Noise(0.0625, 0.0624, 1), "y: M 2.50e-01 > 2.50e-01"),
    ):
        assert judged(truth, run, noise, precision="bf16", table=twice).reason.startswith(text)


def test_exactly_at_the_reach_of_the_noise_an_ill_conditioned_model_is_excused() -> None:
    truth = np.array([[2.0, -2.0], [-2.0, 2.0]])
    run = truth + np.array([[4.0, 0.0], [0.0, 0.0]])  # E = 1
    found = judged(truth, run, Noise(0.5, 0.5, 1), precision="bf16")
    assert (found.status, found.kind) == (UNVERIFIED, Unverified.ILL_CONDITIONED)
    assert found.reason == "y: ill-conditioned: noise 5.0e-01, E 1.0e+00"


def test_what_ill_conditioned_models_are_told() -> None:
    truth, run = of_scale_one(1e-4)
    assert judged(truth, run, Noise(2e-3, 2e-3, 3)).reason == (
        "y: ill-conditioned: noise 2.0e-03 leaves no room below the cap"
    )
    assert judged(truth, of_scale_one(0.5)[1], Noise(2e-3, 2e-3, 3)).reason == (
        "y: E 5.00e-01 is beyond the noise 2.0e-03 of this model (up to 2.0e-02 is excused)"
    )


def test_nan_and_inf_are_counted_in_the_reason() -> None:
    truth, run = of_scale_one(0)
    run[0] = [np.nan, np.inf]
    assert judged(truth, run).reason == "y: 1 NaN and 1 Inf in 4 elements"
    assert judged(truth, run).numbers["outputs"][0]["inf"] == 1


def test_a_truth_that_is_not_finite_has_no_reference() -> None:
    truth, run = of_scale_one(0)
    truth[0, 0] = np.nan
    found = judged(truth, run)
    assert (found.reason, found.kind, found.notes) == ("y: the truth is not finite", Unverified.NO_REFERENCE, ())


def test_what_each_unverified_verdict_is() -> None:
    truth = drawn(1)
    constant = judged(np.ones((8, 3)), np.ones((8, 3)))
    assert constant.reason == "y: the truth does not change over the inputs, so nothing would be proven"
    assert (constant.kind, constant.notes) == (Unverified.NOT_SENSITIVE, ())
    assert constant.numbers["E"] == 0 and "noise_E" in constant.numbers
    far = judged(np.ones((8, 3)), np.full((8, 3), 2.0)).numbers
    assert far["max_abs"] == 1 and "E" not in far and all(math.isfinite(v) for v in far.values() if type(v) is float)
    unmeasured = judged(truth, truth, Noise(0, 0, 0))
    assert (unmeasured.kind, unmeasured.notes) == (Unverified.NO_REFERENCE, ())
    empty = judged(np.zeros((8, 0)), np.zeros((8, 0)))
    assert (empty.kind, empty.notes) == (Unverified.NOT_SENSITIVE, ())


def test_two_inputs_are_enough() -> None:
    assert judged(drawn(1, (2, 5)), drawn(1, (2, 5))).status == AGREE


def test_the_largest_number_of_fp16_is_no_excuse_for_infinity() -> None:
    truth = drawn(1)
    truth[0, 0] = 65504.0
    infinite = truth.copy()
    infinite[0, 0] = np.inf
    assert judged(truth, infinite, precision="fp16").status == MISMATCH
    truth[0, 0] = 65505.0
    found = judged(truth, infinite, precision="fp16")
    assert (found.status, found.kind) == (UNVERIFIED, Unverified.ILL_CONDITIONED)


@pytest.mark.parametrize(("precision", "smallest"), [("fp32", 2.0**-126), ("fp16", 2.0**-14), ("bf16", 2.0**-126)])
def test_the_smallest_normal_number_may_not_be_flushed(precision: str, smallest: float) -> None:
    truth = drawn(1)
    truth[0, 0] = smallest
    flushed = truth.copy()
    flushed[0, 0] = 0
    assert judged(truth, flushed, precision=precision).notes == ()
    truth[0, 0] = np.nextafter(smallest, 0)
    assert judged(truth, flushed, precision=precision).notes == ("ftz",)


def test_flushed_numbers_count_as_right() -> None:
    truth = drawn(1) * 1e-38  # a part of them below the smallest normal number, in units that make the error visible
    flushed = np.where(np.abs(truth) < 2.0**-126, 0, truth)
    found = judged(truth, flushed)
    assert (found.status, found.notes, found.numbers["E"]) == (AGREE, ("ftz",), 0)
    zeros = np.where(np.abs(truth) < 2.0**-126, truth, 0.0)  # true zeros beside flushed numbers prove nothing either
    empty = judged(zeros, np.zeros_like(zeros))
    assert (empty.status, empty.kind) == (UNVERIFIED, Unverified.NOT_SENSITIVE)


def test_whole_numbers_booleans_and_strings() -> None:
    whole = np.arange(8)
    found = judged(whole, whole)
    assert (found.status, found.reason, found.notes) == (AGREE, "", ())
    assert found.numbers["outputs"] == [{"name": "y", "status": AGREE, "wrong": 0}]
    rolled = judged(whole, np.roll(whole, 1), Noise(0, 0, 3)).numbers["outputs"]
    assert rolled == [{"name": "y", "status": MISMATCH, "wrong": 8}]
    changed = judged(whole % 2, (whole % 2).astype(bool))
    assert (changed.status, changed.notes) == (AGREE, ("dtype-changed: int64 to bool",))
    assert judged((whole % 2).astype(bool), (whole % 2).astype(np.uint8)).status == AGREE
    words = np.array(["a", "bb"])
    assert judged(words, words.astype("U9")).notes == () and judged(words, words.astype("U9")).status == AGREE


def test_tops_are_clear_in_units_of_the_outputs() -> None:
    truth = np.array([[0.0, 1.0], [1.0, 0.0]]) * 1e3
    noise = Noise(1e-6, 1e-4, 3)  # M of 2e-3 is a distance of 1 here
    row = judged(truth, truth, noise).numbers["outputs"][0]
    assert (row["top_agreement"], row["top_excluded"]) == (1.0, 0.0)
    half = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5], [0.4, 0.4]])
    assert judged(half, half).numbers["outputs"][0]["top_agreement"] == 1.0  # half of the rows excluded is not too many


def test_a_rule_without_outputs_is_a_mismatch() -> None:
    rule = Rule({"y": drawn(1)}, {"y": NOISE}, "fp32", False, DEFAULTS)
    assert rule.judge({}).reason == "0 outputs where 1 are needed"
    assert rule.judge({"y": drawn(1)[:3]}).status == AGREE
    assert rule.judge({"scalar": np.array(1.0), "y": drawn(1)[:3]}).status == MISMATCH
