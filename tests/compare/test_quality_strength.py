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
