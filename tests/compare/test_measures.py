"""E, M and what stands beside them: the laws that make them mean the same for every model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_plugin.compare.measures import Scale, distance, mean_over_inputs, scale_of, scale_of_first, top_agreement
from tests.compare.drawing import LAW, SEEDS, Array, drawn

FACTORS = st.floats(1e-6, 1e6).flatmap(lambda size: st.sampled_from([size, -size]))


def errors(actual: Array, truth: Array) -> tuple[float, float]:
    found = distance(actual, truth, scale_of(truth))
    return found.E, found.M


def test_the_definition_by_hand() -> None:
    truth = np.array([[1.0, 10.0], [3.0, 10.0]])  # changes over the inputs by -1 and +1 in the first channel
    scale = scale_of(truth)
    assert scale.norm == pytest.approx(math.sqrt(2))
    assert scale.rms == pytest.approx(math.sqrt(2) / 2)
    error = np.array([[0.0, 0.3], [0.4, 0.0]])
    found = distance(truth + error, truth, scale)
    assert pytest.approx((0.5 / math.sqrt(2), 0.4 * math.sqrt(2))) == (found.E, found.M)
    assert found.max_abs == pytest.approx(0.4)
    assert found.max_rel == pytest.approx(0.04)


def test_the_scale_of_the_first_inputs_by_hand() -> None:
    """The truth changes by -3, -1, 1 and 3: sqrt(5). It is sqrt(14) large, and its first two results are sqrt(2)."""
    truth = np.array([[[0.0, 0.0]], [[2.0, 2.0]], [[4.0, 4.0]], [[6.0, 6.0]]])
    rms = math.sqrt(5) * math.sqrt(2 / 14)
    assert scale_of_first(truth[:2], truth).rms == pytest.approx(rms, rel=1e-12)
    assert scale_of_first(truth[:2], truth).norm == pytest.approx(rms * math.sqrt(4), rel=1e-12)
    assert scale_of_first(truth[:1], truth) == Scale(0, 0), "results of zero have no size"


def test_the_scale_of_all_inputs_is_that_of_the_truth() -> None:
    truth = drawn(0)
    assert scale_of_first(truth, truth) == scale_of(truth)
    assert scale_of_first(truth[:7], truth) != scale_of(truth)


def test_a_truth_of_zeros_or_of_nothing_has_no_scale() -> None:
    assert scale_of_first(np.zeros((1, 3)), np.zeros((2, 3))) == Scale(0, 0)
    assert scale_of_first(np.zeros((1, 0)), np.zeros((2, 0))) == Scale(0, 0)


@pytest.mark.parametrize("kind", [np.int64, np.float16, np.float32])
def test_the_scale_of_the_first_inputs_is_counted_in_float64(kind: Any) -> None:
    truth = np.array([[30000.0], [-30000.0], [10000.0], [-10000.0]]).astype(kind)
    assert scale_of_first(truth[:2], truth).rms == pytest.approx(30000, rel=1e-12)


@LAW
@given(SEEDS)
def test_equal_is_zero(seed: int) -> None:
    truth = drawn(seed)
    found = distance(truth.copy(), truth, scale_of(truth))
    assert (found.E, found.M, found.max_abs, found.max_rel) == (0, 0, 0, 0)
    assert found.cosine == pytest.approx(1)


@LAW
@given(SEEDS, FACTORS)
def test_the_unit_of_the_outputs_does_not_matter(seed: int, factor: float) -> None:
    truth, actual = drawn(seed), drawn(seed) + 1e-3 * drawn(seed + 1)
    assert errors(actual * factor, truth * factor) == pytest.approx(errors(actual, truth), rel=1e-6)


@LAW
@given(SEEDS, st.floats(-1e3, 1e3))
def test_a_shift_of_both_does_not_matter(seed: int, shift: float) -> None:
    truth, actual = drawn(seed), drawn(seed) + 1e-3 * drawn(seed + 1)
    assert errors(actual + shift, truth + shift) == pytest.approx(errors(actual, truth), rel=1e-6)


@LAW
@given(SEEDS)
def test_a_constant_of_the_inputs_adds_nothing_to_the_scale(seed: int) -> None:
    truth, offset = drawn(seed), 100 * drawn(seed + 1, (1, 12))
    assert scale_of(truth + offset).norm == pytest.approx(scale_of(truth).norm, rel=1e-9)


@LAW
@given(SEEDS, st.randoms())
def test_the_order_of_inputs_and_channels_does_not_matter(seed: int, random: Any) -> None:
    truth, actual = drawn(seed), drawn(seed) + drawn(seed + 1)
    rows, columns = random.sample(range(8), 8), random.sample(range(12), 12)
    mixed = errors(actual[rows][:, columns], truth[rows][:, columns])
    assert mixed == pytest.approx(errors(actual, truth), rel=1e-9)


@LAW
@given(SEEDS, st.floats(1e-6, 1e3))
def test_an_error_twice_as_large_counts_twice(seed: int, factor: float) -> None:
    truth, error = drawn(seed), drawn(seed + 1)
    once, more = errors(truth + error, truth), errors(truth + factor * error, truth)
    assert more == pytest.approx((factor * once[0], factor * once[1]), rel=1e-6)


@LAW
@given(SEEDS)
def test_the_mean_answer_is_off_by_one(seed: int) -> None:
    truth = drawn(seed) + 50
    constant = np.broadcast_to(truth.mean(axis=0, keepdims=True), truth.shape)
    assert errors(constant, truth)[0] == pytest.approx(1, rel=1e-9)


@LAW
@given(SEEDS)
def test_any_other_constant_answer_is_off_by_more(seed: int) -> None:
    truth = drawn(seed)
    assert errors(np.broadcast_to(drawn(seed + 1, (1, 12)), truth.shape), truth)[0] >= 1


@LAW
@given(SEEDS)
def test_permuted_inputs_are_off_by_about_one(seed: int) -> None:
    truth = drawn(seed) + 50
    assert 0.5 < errors(np.roll(truth, 1, axis=0), truth)[0] < 2.5


@LAW
@given(SEEDS)
def test_the_largest_error_is_at_least_the_mean_one(seed: int) -> None:
    e, m = errors(drawn(seed + 1), drawn(seed))
    assert m >= e * (1 - 1e-12)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-7, -7.3, 1e6])
@pytest.mark.parametrize("count", [2, 3, 7, 16])
def test_what_does_not_change_has_no_scale(value: float, count: int) -> None:
    assert scale_of(np.full((count, 5), value)).norm == 0


def test_without_a_scale_any_error_is_infinite() -> None:
    truth = np.full((3, 2), 0.1)
    assert errors(truth, truth) == (0, 0)
    assert errors(truth + 1e-9, truth) == (math.inf, math.inf)


def test_single_precision_is_compared_in_double() -> None:
    truth = drawn(1)
    assert 0 < errors(truth.astype(np.float32), truth)[0] < 1e-7


@LAW
@given(SEEDS, st.floats(1e-3, 1e3))
def test_cosine_sees_the_direction_only(seed: int, factor: float) -> None:
    truth = drawn(seed)
    assert distance(factor * truth, truth, scale_of(truth)).cosine == pytest.approx(1)
    assert distance(-factor * truth, truth, scale_of(truth)).cosine == pytest.approx(-1)


def test_cosine_of_zeros() -> None:
    zeros, ones = np.zeros((2, 2)), np.ones((2, 2))
    assert distance(zeros, zeros, scale_of(zeros)).cosine == 1
    assert distance(zeros, ones, scale_of(ones)).cosine == 0


def test_agreement_counts_clear_rows_only() -> None:
    truth = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5001], [0.0, 2.0]])
    actual = np.array([[0.0, 1.0], [0.0, 1.0], [0.6, 0.4], [0.0, 2.0]])
    assert top_agreement(actual, truth, 0.01) == (2 / 3, 0.25)
    assert top_agreement(actual, truth, 0.0) == (0.5, 0)


def test_a_margin_has_to_exceed_twice_the_tolerance() -> None:
    truth = np.array([[0.0, 1.0], [0.0, 2.0]])
    assert top_agreement(truth, truth, 0.5) == (1, 0.5)
    assert top_agreement(truth, truth, 0.49) == (1, 0)


def test_no_agreement_is_said_of_nothing() -> None:
    truth = np.array([[0.0, 1.0], [0.0, 1.0]])
    assert top_agreement(truth, truth, 1.0) == (None, 1)
    assert top_agreement(truth[:, :1], truth[:, :1], 0.0) == (None, 1)
    assert top_agreement(truth[0], truth[0], 0.0) == (None, 1)
    assert top_agreement(truth[:0], truth[:0], 0.0) == (None, 1)


@LAW
@given(SEEDS, st.floats(0, 2))
def test_an_error_within_the_tolerance_never_costs_agreement(seed: int, tolerance: float) -> None:
    truth = drawn(seed, (6, 4))
    actual = truth + tolerance * np.random.default_rng(seed + 1).uniform(-1, 1, truth.shape)
    agreement, excluded = top_agreement(actual, truth, tolerance)
    assert agreement in (1, None)
    assert (agreement is None) == (excluded == 1)


def test_figures_by_hand() -> None:
    truth, actual = np.array([[3.0], [-4.0]]), np.array([[3.0], [-2.0]])
    found = distance(actual, truth, scale_of(truth))
    assert (found.max_abs, found.max_rel) == (2.0, 0.5)
    assert found.cosine == pytest.approx((9 + 8) / (5 * math.sqrt(13)))
    assert pytest.approx(2 / (3.5 * math.sqrt(2))) == found.E and pytest.approx(2 / 3.5) == found.M
    zeros = np.zeros((2, 1))
    assert distance(actual, zeros, scale_of(actual)).max_rel == math.inf
    assert distance(zeros, zeros, scale_of(actual)).max_rel == 0.0


def test_narrow_types_are_measured_in_double() -> None:
    truth, actual = np.float16([[6e4], [-6e4]]), np.float16([[-6e4], [6e4]])
    assert scale_of(truth).norm == pytest.approx(6e4 * math.sqrt(2), rel=1e-3)
    assert errors(actual, truth) == pytest.approx((2.0, 2.0), rel=1e-3)
    assert mean_over_inputs(truth).dtype == np.float64 and mean_over_inputs(truth).tolist() == [[0.0]]
    whole = np.uint8([[1], [3]])
    assert scale_of(whole).norm == pytest.approx(math.sqrt(2)) and errors(np.uint8([[3], [1]]), whole) == (2.0, 2.0)


def test_nothing_has_no_scale_and_no_distance() -> None:
    empty = np.zeros((2, 0))
    assert (scale_of(empty).norm, scale_of(empty).rms) == (0.0, 0.0)
    found = distance(empty, empty, scale_of(empty))
    assert (found.E, found.M, found.max_abs, found.max_rel, found.cosine) == (0, 0, 0, 0, 1)
    assert distance(np.ones((1, 1)), np.zeros((1, 1)), scale_of(np.zeros((1, 1)))).cosine == 0.0


def test_agreement_is_counted_over_every_row_of_every_axis() -> None:
    truth = np.array([[[0.0, 1.0, 0.5], [3.0, 1.0, 0.0]], [[0.0, 5.0, 4.9], [1.0, 0.0, 9.0]]])
    actual = truth.copy()
    actual[1, 1] = [9.0, 0.0, 1.0]
    assert top_agreement(actual, truth, 0.1) == (2 / 3, 0.25)
    assert top_agreement(actual.astype(np.float32), truth.astype(np.float32), 0.01) == (0.75, 0.0)
    two = np.array([[0.0, 1.0]])
    assert top_agreement(two, two, 0.1) == (1.0, 0.0)


def test_whole_numbers_of_one_byte_do_not_overflow_where_a_margin_is_measured() -> None:
    truth = np.array([[-100, 100], [0, 1]], dtype=np.int8)
    assert top_agreement(truth, truth, 2.0) == (1.0, 0.5)


def test_the_classes_are_on_the_last_axis_however_short_the_others_are() -> None:
    truth = np.array([[[0.0, 1.0, 0.5]], [[3.0, 1.0, 0.0]]])  # [2, 1, 3]
    assert top_agreement(truth, truth, 0.1) == (1.0, 0.0)
