"""The interval of a detector's loss and its verdict in figures, and whether a broken detector would be noticed."""

from __future__ import annotations

import numpy as np
import pytest

from bench_plugin.compare.detecting.detection_quality import (
    RESAMPLES,
    Loss,
    Resampled,
    judged,
    loss,
    strength_of_detections,
)
from bench_plugin.compare.detecting.suppression import Found
from bench_plugin.compare.verdict import Comparison
from tests.compare.test_detection_quality import FAR, SQUARE, found, objects

THING: list[tuple[int, ...]] = [(0, 10, 10, 30, 30)]  # the objects of an image: one of class 0 at SQUARE
OTHER: list[tuple[int, ...]] = [(0, 50, 50, 60, 60)]  # and one at FAR


def alternating(count: int) -> tuple[Resampled, Found]:
    """Images with an object at SQUARE and at FAR in turn, and a detector that finds each."""
    truth = objects(*(OTHER if image % 2 else THING for image in range(count)))
    right = found(*((image, 0, 0.9, FAR if image % 2 else SQUARE) for image in range(count)), images=count)
    return Resampled(truth, 1), right


def alike(count: int, detector: Found) -> tuple[Resampled, Found]:
    """Images with one object each, all at the same place, and the given detections."""
    return Resampled(objects(*([THING] * count)), 1), detector


def test_the_same_test_set_is_sampled_the_same_way_every_time() -> None:
    truth = objects(*([THING] * 20))
    half = found(*((image, 0, 0.9, SQUARE) for image in range(0, 20, 2)), images=20)
    once, again = Resampled(truth, 1).values(half), Resampled(truth, 1).values(half)
    assert once.shape == (1 + RESAMPLES,)
    assert once.tolist() == again.tolist()
    assert len(set(once.tolist())) > 5, "the samples differ from each other"


def test_a_loss_is_that_of_the_test_set_and_its_interval_holds_95_percent_of_the_samples() -> None:
    samples = np.arange(201) / 200  # 0.000, 0.005 ... 1.000
    before = np.concatenate([[0.75], 1 + samples])
    found_loss = loss(before, np.concatenate([[0.25], np.ones(201)]))
    assert (found_loss.drop, found_loss.lower, found_loss.upper) == pytest.approx((0.5, 0.025, 0.975))


def test_a_detector_that_lost_no_more_than_two_points_for_certain_agrees() -> None:
    figures = {"map": 0.7, "map50": 0.9}
    verdict = judged(Loss(0.05, 0.02, 0.08), figures, {"map": 0.75, "map50": 0.95})
    numbers = {**figures, "reference_map": 0.75}
    assert verdict == Comparison("agree", "", {**numbers, "drop": {"map": 0.05, "lower": 0.02, "upper": 0.08}})
    worse = judged(Loss(0.05, 0.021, 0.08), figures, {"map": 0.75})
    reason = "the mean average precision fell by 5.0% (at least 2.1%)"
    assert worse == Comparison("mismatch", reason, {**numbers, "drop": {"map": 0.05, "lower": 0.021, "upper": 0.08}})


def test_detections_of_the_neighbour_and_of_one_image_for_all_are_noticed_where_images_differ() -> None:
    images, right = alternating(40)
    strength = strength_of_detections(images, images.values(right), right)
    assert list(strength.table) == ["mean output", "rows permuted"]
    assert strength.table["rows permuted"] == {"kind": "structure", "killed": True, "ratio": pytest.approx(50.0)}
    assert strength.table["mean output"]["killed"]
    assert (strength.share, strength.missed, strength.reason) == (1.0, (), "")


def test_where_all_images_are_alike_a_broken_detector_would_not_be_noticed() -> None:
    images, right = alike(20, found(*((image, 0, 0.9, SQUARE) for image in range(20)), images=20))
    strength = strength_of_detections(images, images.values(right), right)
    same = {"kind": "structure", "killed": False, "ratio": 0.0}
    assert strength.table == {"mean output": same, "rows permuted": same}
    assert strength.share == 0.0 and strength.reason.startswith("not sensitive: ")


def test_the_image_with_the_most_detections_stands_for_all() -> None:
    """Only image 3 has two detections, one of which is right everywhere; those of the others are right nowhere."""
    rows = [(image, 0, 0.9, FAR) for image in range(6) if image != 3]
    images, most = alike(6, found(*rows, (3, 0, 0.9, SQUARE), (3, 0, 0.8, FAR), images=6))
    strength = strength_of_detections(images, np.ones(1 + RESAMPLES), most)
    # All six are found first, so precision is 1 up to the last: no loss against a reference that finds everything.
    assert strength.table["mean output"] == {"kind": "structure", "killed": False, "ratio": pytest.approx(0.0)}
    assert strength.table["rows permuted"]["killed"]


def test_a_loss_of_exactly_two_points_is_not_noticed_and_is_one_tolerance_off() -> None:
    images, wrong = alike(5, found(*((image, 0, 0.9, FAR) for image in range(5)), images=5))
    strength = strength_of_detections(images, np.full(1 + RESAMPLES, 0.02), wrong)
    row = {"kind": "structure", "killed": False, "ratio": 1.0}
    assert strength.table == {"mean output": row, "rows permuted": row}


def test_a_detector_that_finds_nothing_is_not_noticed_to_be_broken() -> None:
    images, nothing = alike(5, found(images=5))
    strength = strength_of_detections(images, np.zeros(1 + RESAMPLES), nothing)
    assert strength.missed == ("mean output", "rows permuted")
