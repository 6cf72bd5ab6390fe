"""A test set that could not show a broken classifier proves nothing about its quality."""

from __future__ import annotations

import numpy as np
import pytest

from bench_plugin.compare.quality import strength_of_answers


def test_on_many_images_of_many_classes_broken_answers_are_noticed() -> None:
    labels = np.random.default_rng(0).integers(0, 10, 500)
    found = strength_of_answers(labels, labels, labels)
    assert (found.reason, found.share, found.missed) == ("", 1.0, ())


@pytest.mark.parametrize("labels", [np.zeros(500, dtype=np.int64), np.array([0, 1])])
def test_one_class_or_a_few_images_prove_nothing(labels: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    found = strength_of_answers(labels, labels, labels)
    assert found.reason.startswith("not sensitive: this comparison would not notice ")


def test_a_reference_that_is_right_by_chance_proves_nothing() -> None:
    rng = np.random.default_rng(0)
    labels, guesses = rng.integers(0, 10, 500), rng.integers(0, 10, 500)
    assert strength_of_answers(guesses, guesses, labels).reason


def test_the_two_mutants_of_a_classifier_by_hand() -> None:
    labels = np.tile(np.arange(4), 100)
    found = strength_of_answers(labels, labels, labels)
    assert list(found.table) == ["mean output", "rows permuted"] and found.applicable == 2
    # One answer to every input is wrong for 3 of 4, the neighbour's for all; both are far beyond 2 points.
    assert found.table["rows permuted"] == {"kind": "structure", "killed": True, "ratio": pytest.approx(50.0)}
    spread = (0.75 * 0.25 / 400) ** 0.5
    assert found.table["mean output"]["ratio"] == pytest.approx((0.75 - 1.959964 * spread) / 0.02, rel=1e-6)
    same = strength_of_answers(np.zeros(9, np.int64), np.zeros(9, np.int64), np.zeros(9, np.int64))
    assert same.table["mean output"] == {"kind": "structure", "killed": False, "ratio": 0.0}


def test_the_most_frequent_answer_stands_for_a_constant_one() -> None:
    labels = np.array([2, 2, 2, 2, 2, 2, 2, 2, 1, 0])
    found = strength_of_answers(labels, labels, labels)  # a constant 2 loses 2 of 10: not significant
    assert not found.table["mean output"]["killed"]


def test_a_mutant_that_gains_has_no_negative_distance() -> None:
    labels = np.tile([0, 1], 50)
    found = strength_of_answers(np.roll(labels, 1), np.roll(labels, 1), labels)  # all wrong; permuted all right
    assert found.table["rows permuted"]["ratio"] == 0.0
