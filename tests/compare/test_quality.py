"""How well a classifier does its task: every figure against numbers counted by hand, and the verdict on a drop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.quality import MOST_DROP, classification, judged, paired_drop
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED
from bench_plugin.domain.outcome import Unverified

Array = np.ndarray[Any, Any]

# Six inputs of three classes; the class with the largest score is the answer: 0 0 1 | 1 2 | 1.
LABELS = np.array([0, 0, 0, 1, 1, 2])
ANSWERS = np.array([0, 0, 1, 1, 2, 1])


def scores_of(answers: Array, classes: int = 3) -> Array:
    """Scores [N, classes] whose largest is at the answer."""
    return np.eye(classes)[answers]


def labelled(count: int, wrong_before: int, wrong_after: int, shared: int) -> tuple[Array, Array, Array]:
    """Reference, answers and labels of ``count`` inputs; so many are wrong before, after, and ``shared`` in both."""
    labels = np.zeros(count, dtype=np.int64)
    before, after = labels.copy(), labels.copy()
    before[:wrong_before] = 1
    after[wrong_before - shared : wrong_before - shared + wrong_after] = 1
    return before, after, labels


def test_the_figures_of_a_classifier_are_those_counted_by_hand() -> None:
    found = classification(scores_of(ANSWERS), LABELS, 3)
    assert found["inputs"] == 6
    assert found["accuracy"] == pytest.approx(3 / 6)
    assert found["confusion"] == [[2, 1, 0], [0, 1, 1], [0, 1, 0]]
    assert found["precision"] == pytest.approx([2 / 2, 1 / 3, 0 / 1])
    assert found["sensitivity"] == pytest.approx([2 / 3, 1 / 2, 0])
    assert found["mean_precision"] == pytest.approx(4 / 9)
    assert found["mean_sensitivity"] == pytest.approx(7 / 18)
    assert found["g_mean"] == 0.0


def test_the_geometric_mean_is_over_the_sensitivities() -> None:
    found = classification(scores_of(np.array([0, 1, 1, 1])), np.array([0, 0, 1, 1]), 2)
    assert found["sensitivity"] == [0.5, 1.0]
    assert found["g_mean"] == pytest.approx(np.sqrt(0.5))


def test_a_class_that_is_never_answered_has_no_precision_and_one_that_never_occurs_no_sensitivity() -> None:
    found = classification(scores_of(np.array([0, 0])), np.array([0, 1]), 3)
    assert found["precision"] == [0.5, 0.0, 0.0]
    assert found["sensitivity"] == [1.0, 0.0, 0.0]


def test_top_five_counts_the_five_largest_scores() -> None:
    scores = np.tile(np.arange(8.0)[::-1], (3, 1))  # classes 0 to 4 have the largest five
    found = classification(scores, np.array([0, 4, 5]), 8)
    assert found["accuracy"] == pytest.approx(1 / 3)
    assert found["top5"] == pytest.approx(2 / 3)


def test_a_drop_is_of_the_same_inputs() -> None:
    found = paired_drop(*labelled(100, wrong_before=2, wrong_after=7, shared=1))
    assert found.drop == pytest.approx(0.05)  # 6 lost, 1 won
    assert found.agreement == pytest.approx(0.93)
    spread = np.sqrt((7 / 100 - 0.05**2) / 100)
    assert found.lower == pytest.approx(0.05 - 1.959964 * spread, abs=1e-6)
    assert found.upper == pytest.approx(0.05 + 1.959964 * spread, abs=1e-6)
    assert found.mcnemar_p == pytest.approx(2 * (1 + 7) / 2**7)  # two-sided: 6, 7, 1 or 0 of 7


def test_a_gain_is_a_negative_drop() -> None:
    reference, answers, labels = labelled(100, wrong_before=7, wrong_after=2, shared=1)
    assert paired_drop(reference, answers, labels).drop == pytest.approx(-0.05)


def test_equal_answers_have_no_drop_and_prove_no_difference() -> None:
    found = paired_drop(ANSWERS, ANSWERS, LABELS)
    assert (found.drop, found.lower, found.upper, found.agreement, found.mcnemar_p) == (0, 0, 0, 1, 1)


@pytest.mark.parametrize(("lost", "status"), [(0, AGREE), (20, AGREE), (29, AGREE), (40, MISMATCH), (200, MISMATCH)])
def test_a_loss_counts_once_its_lower_bound_is_beyond_two_points(lost: int, status: str) -> None:
    labels = np.zeros(1000, dtype=np.int64)
    answers = np.where(np.arange(1000) < lost, 1, 0)
    found = judged(scores_of(answers), scores_of(labels), labels, 3)
    assert found.status == status
    assert (found.numbers["drop"]["lower"] > MOST_DROP) is (status == MISMATCH)
    assert found.numbers["reference_accuracy"] == 1
    if status == MISMATCH:
        assert found.reason.startswith(f"top-1 fell by {lost / 10:.1f}%")


def test_a_better_model_agrees() -> None:
    labels = np.zeros(1000, dtype=np.int64)
    worse = np.where(np.arange(1000) < 200, 1, 0)
    found = judged(scores_of(labels), scores_of(worse), labels, 3)
    assert found.status == AGREE and found.numbers["drop"]["top1"] == pytest.approx(-0.2)


def test_scores_of_another_shape_are_a_mismatch() -> None:
    found = judged(scores_of(ANSWERS, 4), scores_of(ANSWERS), LABELS, 3)
    assert (found.status, found.reason) == (MISMATCH, "shape [6, 4], expected [6, 3]")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_a_mismatch(value: float) -> None:
    scores = scores_of(LABELS)
    scores[2, 1] = value
    found = judged(scores, scores_of(LABELS), LABELS, 3)
    assert (found.status, found.reason) == (MISMATCH, "1 of 18 scores are NaN or Inf")


def test_an_empty_test_set_proves_nothing() -> None:
    found = judged(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0, dtype=np.int64), 3)
    assert (found.status, found.kind) == (UNVERIFIED, Unverified.NO_REFERENCE)


def test_what_a_drop_is_told_and_what_stands_in_the_row() -> None:
    labels = np.zeros(1000, dtype=np.int64)
    answers = np.where(np.arange(1000) < 40, 1, 0)
    found = judged(scores_of(answers), scores_of(labels), labels, 3)
    lower = 0.04 - 1.959964 * np.sqrt((0.04 - 0.04**2) / 1000)
    assert found.reason == f"top-1 fell by 4.0% (at least {lower:.1%}, McNemar p 2e-12)"
    drop = found.numbers["drop"]
    assert list(drop) == ["top1", "lower", "upper", "agreement", "mcnemar_p"]
    assert (drop["top1"], drop["agreement"]) == (pytest.approx(0.04), pytest.approx(0.96))
    assert (drop["lower"], drop["upper"]) == (pytest.approx(lower, abs=1e-6), pytest.approx(0.08 - lower, abs=1e-6))
    assert (found.numbers["accuracy"], found.numbers["inputs"]) == (pytest.approx(0.96), 1000)
    fine = judged(scores_of(labels), scores_of(labels), labels, 3)
    assert (fine.status, fine.reason, fine.numbers["accuracy"]) == (AGREE, "", 1.0)


def test_a_reference_that_is_partly_wrong_has_its_own_accuracy() -> None:
    labels = np.array([0, 1, 2, 0])
    found = judged(scores_of(labels), scores_of(np.array([0, 1, 1, 1])), labels, 3)
    assert found.numbers["reference_accuracy"] == 0.5 and found.numbers["accuracy"] == 1.0


def test_what_cannot_be_classified_is_said() -> None:
    empty = judged(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0, dtype=np.int64), 3)
    assert empty.reason == "the test set has no input"
    both = scores_of(LABELS)
    both[0] = [np.nan, np.inf, 1.0]
    assert judged(both, scores_of(LABELS), LABELS, 3).reason == "2 of 18 scores are NaN or Inf"


def test_figures_of_four_inputs_and_three_classes() -> None:
    scores = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.4, 0.4, 0.2], [0.1, 0.2, 0.7]])
    found = classification(scores, np.array([0, 1, 1, 2]), 3)
    assert found == {
        "inputs": 4, "accuracy": 0.75, "top5": 1.0, "precision": [0.5, 1.0, 1.0], "sensitivity": [1.0, 0.5, 1.0],
        "mean_precision": pytest.approx(2.5 / 3), "mean_sensitivity": pytest.approx(2.5 / 3),
        "g_mean": pytest.approx(0.5 ** (1 / 3)), "confusion": [[1, 0, 0], [1, 1, 0], [0, 0, 1]],
    }  # fmt: skip


def test_more_losses_than_gains_and_a_single_change() -> None:
    zeros = np.zeros(4, dtype=np.int64)
    one = paired_drop(zeros, np.array([1, 0, 0, 0]), zeros)
    assert (one.drop, one.agreement, one.mcnemar_p) == (0.25, 0.75, 1.0)
    reach = 1.959964 * np.sqrt((0.25 - 0.0625) / 4)
    assert (one.lower, one.upper) == (pytest.approx(0.25 - reach), pytest.approx(0.25 + reach))
    swap = paired_drop(np.array([1, 0, 0, 0]), np.array([0, 1, 0, 0]), zeros)
    assert (swap.drop, swap.agreement) == (0.0, 0.5) and swap.upper == pytest.approx(1.959964 * np.sqrt(0.5 / 4))
