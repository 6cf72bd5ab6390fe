"""Average precision by COCO's rules: what counts as right, and what classes and samples without an object give."""

from __future__ import annotations

import numpy as np
import pytest

from bench_plugin.compare.detecting.average_precision import mean_average_precision, ranked
from tests.compare.test_detection_quality import FAR, SQUARE, found, objects

ONCE = np.ones((1, 1), dtype=int)


@pytest.mark.parametrize(
    ("box", "thing", "least", "right"),
    [
        pytest.param((0, 0, 10, 10), (0, 0, 10, 20), 0.5, True, id="an overlap of exactly the threshold is enough"),
        pytest.param((0, 0, 10, 9), (0, 0, 10, 20), 0.5, False, id="a smaller overlap is not"),
        pytest.param((0, 0, 0.1 + 0.2, 1), (0, 0, 0.3, 1), 1.0, True, id="a full overlap is one up to rounding"),
        pytest.param((0, 0, 10, 19), (0, 0, 10, 20), 1.0, False, id="a smaller overlap is no full one"),
    ],
)
def test_which_overlap_makes_a_detection_right(
    box: tuple[float, ...], thing: tuple[float, ...], least: float, right: bool
) -> None:
    (one,) = ranked(found((0, 0, 0.9, box)), np.array([[[0.0, *thing]]]), 1, [least])
    assert one.right.tolist() == [[right]]


def test_of_detections_with_equal_scores_those_of_earlier_images_come_first() -> None:
    count = 60
    rows = [(image, 0, 0.75 if image % 3 else 0.5, SQUARE) for image in range(count)]
    thing: list[tuple[int, ...]] = [(0, 10, 10, 30, 30)]
    (one,) = ranked(found(*rows, images=count), objects(*([thing] * count)), 1, [0.5])
    likely, others = [i for i in range(count) if i % 3], [i for i in range(count) if i % 3 == 0]
    assert one.images.tolist() == [*likely, *others]


def test_the_only_object_found_is_everything_and_never_more() -> None:
    truth = objects([(0, 10, 10, 30, 30)])
    (value,) = mean_average_precision(ranked(found((0, 0, 0.9, SQUARE)), truth, 1), ONCE)
    assert value == pytest.approx(1.0) and value <= 1.0


def test_a_class_without_an_object_does_not_count() -> None:
    truth = objects([(0, 10, 10, 30, 30), (0, 50, 50, 60, 60)])
    classes = ranked(found((0, 0, 0.9, SQUARE), (0, 1, 0.8, FAR)), truth, 3, [0.5])
    assert mean_average_precision(classes, ONCE) == pytest.approx([51 / 101])


def test_without_any_class_every_sample_is_nan() -> None:
    values = mean_average_precision([], np.ones((3, 1), dtype=int))
    assert np.isnan(values).tolist() == [True, True, True]


def test_samples_that_drew_no_object_are_nan_and_the_others_are_not() -> None:
    truth = objects([(0, 10, 10, 30, 30)], [])
    classes = ranked(found((0, 0, 0.9, SQUARE), (1, 0, 0.8, FAR), images=2), truth, 1, [0.5])
    values = mean_average_precision(classes, np.array([[1, 1], [0, 2], [2, 0], [0, 1]]))
    assert np.isnan(values).tolist() == [False, True, False, True]
    assert values[[0, 2]] == pytest.approx([1.0, 1.0])
