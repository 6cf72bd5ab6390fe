"""Non-maximum suppression: which boxes become detections, at the limits and in the order that the rules name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.detecting.suppression import suppressed

SQUARE = (0.0, 0.0, 10.0, 10.0)
NEAR = (1.0, 0.0, 11.0, 10.0)  # overlaps SQUARE by 9 / 11
TALL = (0.0, 0.0, 10.0, 20.0)  # overlaps SQUARE by exactly a half
FAR = (50.0, 50.0, 60.0, 60.0)


def of_one_class(*rows: tuple[tuple[float, ...], float]) -> list[float]:
    """The scores that are left of the boxes and scores of one class in one image."""
    boxes, scores = np.array([[box for box, _ in rows]]), np.array([[[score] for _, score in rows]])
    return [float(score) for score in suppressed(boxes, scores).score]


@pytest.mark.parametrize(
    ("rows", "left"),
    [
        pytest.param([(SQUARE, 0.05), (FAR, 0.04999)], [0.05], id="a score of exactly 0.05 makes a detection"),
        pytest.param([(SQUARE, 0.9), (TALL, 0.8)], [0.9, 0.8], id="half an overlap drops no box"),
        pytest.param([(SQUARE, 0.9), (NEAR, 0.8)], [0.9], id="more than half an overlap drops the less likely"),
        pytest.param(
            [(SQUARE, 0.9), (FAR, 0.8), (NEAR, 0.7)], [0.9, 0.8], id="a box that is far away brings no dropped one back"
        ),
    ],
)
def test_which_boxes_of_a_class_are_left(rows: list[tuple[tuple[float, ...], float]], left: list[float]) -> None:
    assert of_one_class(*rows) == left


def test_of_boxes_with_equal_scores_the_earlier_place_comes_first() -> None:
    places = np.arange(60)
    boxes = np.stack([places * 20.0, places * 0.0, places * 20.0 + 10, places * 0.0 + 10], axis=1)[None]
    found = suppressed(boxes, np.where(places % 3 == 0, 0.5, 0.75)[None, :, None])
    likely, others = [place for place in range(60) if place % 3], [place for place in range(60) if place % 3 == 0]
    assert (found.boxes[:, 0] / 20).tolist() == [*likely, *others]


def test_every_detection_says_its_image_and_its_class() -> None:
    boxes = np.array([[SQUARE, FAR], [SQUARE, FAR], [NEAR, FAR]])
    scores = np.array([[[0.1, 0.9], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.8, 0.7]]])
    found = suppressed(boxes, scores)
    assert found.images == 3
    assert found.image.tolist() == [0, 0, 2, 2]
    assert found.label.tolist() == [0, 1, 0, 1]
    assert found.score.tolist() == [0.1, 0.9, 0.8, 0.7]
    assert found.boxes.tolist() == [list(SQUARE), list(SQUARE), list(FAR), list(FAR)]


def test_images_without_a_detection_leave_empty_arrays_of_the_same_types() -> None:
    found = suppressed(np.zeros((2, 3, 4), dtype=np.float32), np.zeros((2, 3, 5), dtype=np.float32))
    assert found.images == 2
    assert {name: (one.shape, str(one.dtype)) for name, one in found.arrays().items()} == {
        "image": ((0,), "int64"), "label": ((0,), "int64"), "score": ((0,), "float64"), "boxes": ((0, 4), "float64"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("boxes", "scores"),
    [((1, 4, 4), (1, 4)), ((4, 4), (4, 1)), ((4, 4), (4, 4, 1)), ((1, 4, 4, 4), (1, 4, 1)), ((1, 4, 5), (1, 4, 1))],
)
def test_arrays_of_other_ranks_and_boxes_of_other_lengths_are_refused(boxes: Any, scores: Any) -> None:
    with pytest.raises(ValueError, match="are not of the same places") as refused:
        suppressed(np.zeros(boxes), np.zeros(scores))
    assert str(refused.value).startswith(f"boxes {list(boxes)} and scores {list(scores)} ")


@pytest.mark.parametrize(("in_boxes", "in_scores"), [(1, 0), (0, 1), (1, 1), (2, 1)])
def test_every_coordinate_and_score_that_is_not_finite_is_counted(in_boxes: int, in_scores: int) -> None:
    boxes, scores = np.zeros((1, 1, 4)), np.zeros((1, 1, 2))
    boxes[0, 0, :in_boxes], scores[0, 0, :in_scores] = np.nan, np.inf
    with pytest.raises(ValueError, match=f"^{in_boxes + in_scores} of 6 coordinates and scores are NaN or Inf$"):
        suppressed(boxes, scores)
