"""Suppression of overlapping boxes, average precision by hand, and the verdict on a detector that lost some."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.detecting.average_precision import mean_average_precision, ranked
from bench_plugin.compare.detecting.detection_quality import Resampled, judged, loss, strength_of_detections
from bench_plugin.compare.detecting.suppression import MOST, Found, suppressed

SQUARE = (10.0, 10.0, 30.0, 30.0)
NEAR = (11.0, 10.0, 31.0, 30.0)  # overlaps SQUARE by 0.905
FAR = (50.0, 50.0, 60.0, 60.0)


def found(*rows: tuple[int, int, float, tuple[float, ...]], images: int = 1) -> Found:
    """Detections: image, class, score, box."""
    columns = list(zip(*rows, strict=True)) if rows else [(), (), (), ()]
    image, label, score, boxes = (np.array(column) for column in columns)
    return Found(images, image.astype(int), label.astype(int), score.astype(float), boxes.reshape(-1, 4).astype(float))


def objects(*images: list[tuple[int, ...]]) -> np.ndarray[Any, Any]:
    most = max(len(rows) for rows in images)
    made = np.full((len(images), most, 5), -1)
    for image, rows in enumerate(images):
        for place, one in enumerate(rows):
            made[image, place] = one
    return made


def test_of_overlapping_boxes_of_a_class_the_likeliest_stays() -> None:
    boxes = np.array([[SQUARE, NEAR, FAR, SQUARE]])
    scores = np.array([[[0.6, 0.0], [0.9, 0.0], [0.3, 0.04], [0.0, 0.7]]])
    one = suppressed(boxes, scores)
    assert [(row[0], round(row[1], 2)) for row in zip(one.label, one.score, strict=True)] == [
        (0, 0.9),
        (0, 0.3),
        (1, 0.7),
    ]
    assert one.boxes[0].tolist() == list(NEAR) and one.images == 1


def test_an_image_keeps_the_hundred_likeliest() -> None:
    places = np.arange(MOST + 20)
    boxes = np.stack([places * 10.0, places * 0.0, places * 10.0 + 5, places * 0.0 + 5], axis=1)[None]
    one = suppressed(boxes, np.linspace(0.1, 0.9, MOST + 20)[None, :, None])
    assert len(one.score) == MOST and one.score.min() > 0.2


@pytest.mark.parametrize(
    ("boxes", "scores", "message"),
    [
        (
            np.zeros((1, 4, 4)),
            np.zeros((1, 5, 2)),
            r"boxes \[1, 4, 4\] and scores \[1, 5, 2\] are not of the same places",
        ),
        (np.full((1, 1, 4), np.nan), np.zeros((1, 1, 2)), "4 of 6 coordinates and scores are NaN or Inf"),
    ],
)
def test_what_is_no_box_and_score_is_refused(boxes: Any, scores: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        suppressed(boxes, scores)


def test_average_precision_by_hand() -> None:
    """Two objects, three detections: right, wrong, right. Precision is 1 up to recall 1/2 and 2/3 after it."""
    truth = objects([(0, 10, 10, 30, 30), (0, 50, 50, 60, 60)])
    one = found((0, 0, 0.9, SQUARE), (0, 0, 0.8, (80.0, 80.0, 90.0, 90.0)), (0, 0, 0.7, FAR))
    value = mean_average_precision(ranked(one, truth, 1, [0.5]), np.ones((1, 1), dtype=int))
    assert value == pytest.approx((51 * 1 + 50 * 2 / 3) / 101)


def test_an_object_is_found_once_and_only_by_its_class() -> None:
    truth = objects([(0, 10, 10, 30, 30)])
    twice = found((0, 0, 0.9, NEAR), (0, 0, 0.8, SQUARE))
    (first,) = ranked(twice, truth, 1, [0.5, 0.95])
    assert first.right.tolist() == [[True, False], [False, True]], "at 0.95 the likelier one is not near enough"
    other = ranked(found((0, 1, 0.9, SQUARE)), truth, 2, [0.5])
    assert [one.right.sum() for one in other] == [0, 0] and [one.objects.tolist() for one in other] == [[1], [0]]


def test_weights_count_images_as_often_as_they_were_drawn() -> None:
    truth = objects([(0, 10, 10, 30, 30)], [(0, 10, 10, 30, 30)])
    one = ranked(found((0, 0, 0.9, SQUARE), images=2), truth, 1, [0.5])
    values = mean_average_precision(one, np.array([[1, 1], [2, 0], [0, 2]]))
    assert values == pytest.approx([51 / 101, 1.0, 0.0])


def test_a_loss_is_judged_by_the_lower_bound_of_its_interval() -> None:
    count = 60
    truth = objects(*([[(0, 10, 10, 30, 30)]] * count))
    right = found(*((image, 0, 0.9, SQUARE) for image in range(count)), images=count)
    images = Resampled(truth, 1)
    before = images.values(right)
    none = loss(before, before)
    assert (none.drop, none.lower, none.upper) == (0.0, 0.0, 0.0)
    half = found(*((image, 0, 0.9, SQUARE) for image in range(0, count, 2)), images=count)
    lost = loss(before, images.values(half))
    assert lost.drop == pytest.approx(0.5, abs=0.01) and 0.3 < lost.lower < lost.drop < lost.upper < 0.7
    figures = {"map": 0.5, "map50": 0.5}
    assert judged(none, figures, {"map": 0.5}).status == "agree"
    verdict = judged(lost, figures, {"map": 1.0})
    assert verdict.status == "mismatch" and "mean average precision fell by" in verdict.reason
    assert verdict.numbers["reference_map"] == 1.0 and verdict.numbers["drop"]["lower"] == lost.lower


def test_the_rule_notices_detections_of_other_images() -> None:
    rng = np.random.default_rng(1)
    corners = rng.integers(0, 60, (40, 2))
    truth = objects(*([(int(image % 2), x, y, x + 20, y + 20)] for image, (x, y) in enumerate(corners.tolist())))
    right = found(
        *((image, image % 2, 0.9, (x, y, x + 20.0, y + 20.0)) for image, (x, y) in enumerate(corners.tolist())),
        images=40,
    )
    images = Resampled(truth, 2)
    assert strength_of_detections(images, images.values(right), right).share == 1.0
