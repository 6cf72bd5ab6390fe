"""Detections at the limits: overlaps, scores and masks to the last digit, by hand, and what is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.detecting.detections import ROWS, Detections, compare_detections, images, overlaps
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED, Comparison
from bench_plugin.domain.outcome import Unverified
from tests.compare.drawing import Array
from tests.compare.test_detections import ROLES, Outputs, changed, judged, scene, with_masks, without

FAR = np.array([[0.0, 0.0, 10.0, 10.0], [100.0, 0.0, 110.0, 10.0]])


def at(boxes: Any, labels: Any, scores: Any) -> Outputs:
    """One image with these detections."""
    return {"boxes": np.array([boxes], float), "labels": np.array([labels]), "scores": np.array([scores], float)}


def ten(box: Any = (0.0, 0.0, 10.0, 10.0), label: int = 1, score: float = 0.9) -> Outputs:
    """Ten images with one detection each; the first has this one, the others the default."""
    found = {
        "boxes": np.tile(np.array([0.0, 0.0, 10.0, 10.0]), (10, 1, 1)), "labels": np.ones((10, 1), np.int64),
        "scores": np.full((10, 1), 0.9),
    }  # fmt: skip
    found["boxes"][0, 0], found["labels"][0, 0], found["scores"][0, 0] = box, label, score
    return found


# Reading


def test_what_is_read_is_what_was_written() -> None:
    outputs = at(FAR, [3, 4], [0.5, 0.25])
    [found] = images(outputs, ROLES)
    assert (found.boxes == FAR).all() and found.labels.tolist() == [3, 4] and found.scores.tolist() == [0.5, 0.25]
    assert found.masks is None and len(found) == 2 and found.boxes.dtype == found.scores.dtype == np.float64
    single = images({**outputs, "boxes": outputs["boxes"].astype(np.float32)}, ROLES)[0]
    assert single.boxes.dtype == np.float64


def test_outputs_are_read_by_position_and_counts_of_rows_by_name() -> None:
    values = {
        "a": np.concatenate([FAR, FAR + 1]), "a" + ROWS: np.array([1, 3]), "b": np.arange(4), "b" + ROWS: [1, 3],
        "c": np.arange(4) / 10, "c" + ROWS: np.array([1, 3]),
    }  # fmt: skip
    one, three = images(values, ROLES)
    assert one.labels.tolist() == [0] and three.labels.tolist() == [1, 2, 3]
    assert (three.boxes == np.concatenate([FAR[1:], FAR + 1])).all() and three.scores.tolist() == [0.1, 0.2, 0.3]


def test_masks_are_read_with_their_boxes() -> None:
    masks = np.arange(8.0).reshape(1, 2, 1, 2, 2)
    [found] = images({**at(FAR, [-1, 4], [0.5, 0.25]), "masks": masks}, (*ROLES, "masks"))
    assert found.masks is not None and found.masks.tolist() == [[[4.0, 5.0], [6.0, 7.0]]]
    assert found.labels.tolist() == [4] and len(found) == 1
    none = {name: values[:, :0] for name, values in at(FAR, [3, 4], [0.5, 0.25]).items()}
    [empty] = images({**none, "masks": np.zeros((1, 0, 1, 2, 2))}, (*ROLES, "masks"))
    assert len(empty) == 0 and empty.masks is None


def test_labels_from_zero_are_detections() -> None:
    [found] = images(at(FAR, [0, -1], [0.5, np.nan]), ROLES)
    assert found.labels.tolist() == [0]


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"boxes": FAR[None]}, "1 outputs where 3 are needed"),
        (at(FAR, [1, 2], [0.5]), "image 0 has 2 boxes, 2 labels and 1 scores"),
        (at(FAR, [1], [0.5, 0.6]), "image 0 has 2 boxes, 1 labels and 2 scores"),
        (at(FAR, [1, 2], [0.5, np.inf]), "image 0 has boxes or scores that are not finite"),
        (at(FAR * np.nan, [1, 2], [0.5, 0.5]), "image 0 has boxes or scores that are not finite"),
        ({**at(FAR, [1, 2], [0.5, 0.5]), "labels": np.ones((2, 2))},
         "outputs are of {'boxes': 1, 'labels': 2, 'scores': 1} images"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said(outputs: Outputs, message: str) -> None:
    with pytest.raises(ValueError, match="^.") as caught:
        images(outputs, ROLES)
    assert str(caught.value) == message
    found = compare_detections(scene(0), [scene(0)], outputs, ROLES)
    assert found == Comparison(MISMATCH, message)
    truth = compare_detections(outputs, [outputs], scene(0), ROLES)
    assert truth == Comparison(UNVERIFIED, f"the truth: {message}", {}, (), Unverified.NO_REFERENCE)


def test_the_detections_at_some_indices() -> None:
    whole = Detections(FAR, np.array([1, 2]), np.array([0.1, 0.2]), np.arange(8).reshape(2, 2, 2))
    part = whole.only(np.array([1]))
    assert part.labels.tolist() == [2] and part.scores.tolist() == [0.2] and (part.boxes == FAR[1:]).all()
    assert part.masks is not None and part.masks.tolist() == [[[4, 5], [6, 7]]]


# Verdicts


def test_what_is_said_of_every_verdict() -> None:
    found = judged(scene(0), scene(0))
    assert found.numbers == {
        "detections": 18, "stable": 18, "missed": 0, "extra": 0, "worst_overlap": 1.0, "worst_score": 0.0,
        "worst_mask": 1.0,
    }  # fmt: skip
    assert (found.reason, found.kind) == ("", None)
    few = judged(scene(0, 3), scene(0, 3))
    assert (few.status, few.kind) == (UNVERIFIED, Unverified.NOT_SENSITIVE)
    assert few.reason == "only 9 stable detections, 10 are needed" and few.numbers["stable"] == 9
    none = judged(scene(0), scene(0), [])
    assert none.reason == "no perturbed runs: which detections are stable is not known"
    assert none.kind == Unverified.NO_REFERENCE
    short = judged(scene(0), scene(0), [scene(0), {name: values[:2] for name, values in scene(0).items()}])
    assert short.reason == "perturbed runs of [3, 2] images, expected 3" and short.kind == Unverified.NO_REFERENCE
    missed = judged(scene(0), without(scene(0), 2))
    assert missed.numbers["missed"] == 3 and missed.numbers["worst_overlap"] == 1.0
    fewer = judged(scene(0), {name: values[:2] for name, values in scene(0).items()})
    assert fewer == Comparison(MISMATCH, "2 images, expected 3")


def test_exactly_ten_stable_detections_are_enough() -> None:
    assert judged(ten(), ten()).status == AGREE


@pytest.mark.parametrize(("precision", "overlap", "score"), [("fp32", 0.99, 1e-3), ("fp16", 0.95, 1e-2),
                                                             ("bf16", 0.90, 5e-2)])  # fmt: skip
def test_the_limits_of_every_precision(precision: str, overlap: float, score: float) -> None:
    for share, status in ((overlap + 1e-6, AGREE), (overlap - 1e-6, MISMATCH)):
        found = judged(ten(), ten(box=(0.0, 0.0, 10.0, 10.0 * share)), precision=precision)
        assert found.status == status and found.numbers["worst_overlap"] == pytest.approx(share)
        assert found.numbers["worst_score"] == 0.0
    for apart, status in ((score * 0.999, AGREE), (score * 1.001, MISMATCH)):
        found = judged(ten(), ten(score=0.9 + apart), precision=precision)
        assert found.status == status and found.numbers["worst_score"] == pytest.approx(apart)
        assert found.numbers["worst_overlap"] == 1.0


def test_exactly_at_the_limits_agrees() -> None:
    assert judged(ten(score=0.5), ten(score=0.5 + 2.0**-5), precision="bf16").status == AGREE
    truth = ten(score=0.0)
    assert judged(truth, ten(score=1e-3)).status == AGREE
    assert judged(ten(), ten(box=(0.0, 0.0, 10.0, 9.9))).status == AGREE


def test_a_further_detection_near_an_unstable_one_overlaps_by_half() -> None:
    # The first box is unstable: half of the runs do not have it.
    def scene_with(*boxes: Any) -> Outputs:
        plain = [[1000.0 * (i + 1), 0.0, 1000.0 * (i + 1) + 10, 10.0] for i in range(10)]
        return at([*boxes, *plain], [1] * (10 + len(boxes)), [0.9] * (10 + len(boxes)))

    truth, fewer = scene_with([0.0, 0.0, 10.0, 10.0]), scene_with()
    for height, status in ((5.0, AGREE), (4.99, MISMATCH), (20.0, AGREE), (20.1, MISMATCH)):
        found = judged(truth, scene_with([0.0, 0.0, 10.0, height]), [truth, fewer])
        assert found.status == status and found.numbers["stable"] == 10, height
    # An unstable detection may also be one that only a perturbed run has.
    assert judged(fewer, truth, [truth, fewer]).status == AGREE
    assert judged(fewer, truth, [fewer, fewer]).status == MISMATCH
    assert judged(fewer, scene_with([0.0, 0.0, 10.0, 10.0], [0.0, 0.0, 10.0, 4.0]), [truth, fewer]).reason == (
        "0 of 10 stable detections missed, 1 extra; extra: image 0, class 1, score 0.9"
    )


def test_among_equal_overlaps_the_nearer_scores_are_one_detection() -> None:
    def twins(first: float, second: float) -> Outputs:
        found = ten()
        double = {name: np.concatenate([values, values], axis=1) for name, values in found.items()}
        double["scores"][:] = [first, second]
        return double

    truth = twins(0.3, 0.9)
    found = judged(truth, twins(0.9, 0.3))
    assert (found.status, found.numbers["worst_score"]) == (AGREE, 0.0)
    assert judged(truth, twins(0.9, 0.31)).status == MISMATCH


def test_classes_are_matched_apart() -> None:
    truth = changed(scene(0), "labels", np.s_[:], np.arange(6))
    swapped = changed(truth, "labels", np.s_[:], np.arange(6)[::-1])
    found = judged(truth, swapped)
    assert found.reason == (
        "18 of 18 stable detections missed, 18 extra; missed: image 0, class 2, score 0.85, nothing of its class "
        "there; extra: image 0, class 3, score 0.85"
    )
    one_gone = changed(truth, "labels", (slice(None), 0), 77)
    assert judged(truth, one_gone).reason.startswith("3 of 18 stable detections missed, 3 extra; ")


# Overlaps of masks


def mask_overlap(mine: Array, theirs: Array) -> Comparison:
    truth = {**ten(), "masks": np.full((10, 1, 1, 10, 10), 0.9)}
    truth["masks"][0, 0, 0] = mine
    run = {**truth, "masks": truth["masks"].copy()}
    run["masks"][0, 0, 0] = theirs
    return judged(truth, run, roles=(*ROLES, "masks"))


def test_masks_by_hand() -> None:
    full, part = np.full((10, 10), 0.9), np.full((10, 10), 0.9)
    part[0, 0] = 0.1
    found = mask_overlap(full, part)
    assert (found.status, found.numbers["worst_mask"]) == (AGREE, 0.99)
    part[0, 1] = 0.1
    assert mask_overlap(full, part).numbers["worst_mask"] == 0.98
    assert mask_overlap(part, full).status == MISMATCH
    assert mask_overlap(full, 1 - full).numbers["worst_mask"] == 0.0
    assert mask_overlap(1 - full, 1 - full).numbers["worst_mask"] == 1.0


def test_a_pixel_near_the_threshold_of_the_truth_is_not_counted() -> None:
    full, part = np.full((10, 10), 0.9), np.full((10, 10), 0.9)
    part[:5] = 0.1
    near = full.copy()
    near[:5] = 0.5009
    assert mask_overlap(near, part).status == AGREE
    near[:5] = 0.5011
    assert mask_overlap(near, part).numbers["worst_mask"] == 0.5
    near[:5] = 0.4991
    assert mask_overlap(near, full).status == AGREE
    near[:5] = 0.4989
    assert mask_overlap(near, full).numbers["worst_mask"] == 0.5
    half = full.copy()
    half[:5] = 0.5  # not beyond the threshold
    assert mask_overlap(part, half).status == AGREE


def test_masks_of_one_run_only_or_of_another_size_do_not_overlap() -> None:
    roles, truth = (*ROLES, "masks"), with_masks(scene(0))
    assert judged(truth, with_masks(scene(0), 21), roles=roles).numbers["worst_mask"] == 0.0
    one = Detections(FAR, np.array([1, 2]), np.array([0.1, 0.2]), None)
    assert one.only(np.array([0])).masks is None


def test_areas_and_boxes_without_one() -> None:
    point, line = np.array([[1.0, 1.0, 1.0, 1.0]]), np.array([[0.0, 0.0, 5.0, 0.0]])
    inverted = np.array([[5.0, 5.0, 0.0, 0.0]])
    for one in (point, line, inverted):
        assert overlaps(one, one).tolist() == [[1.0]]
        assert overlaps(one, FAR).tolist() == [[0.0, 0.0]] and overlaps(FAR, one).tolist() == [[0.0], [0.0]]
    third = overlaps(np.array([[0.0, 0.0, 4.0, 1.0]]), np.array([[2.0, 0.0, 6.0, 1.0], [0.0, 0.0, 4.0, 2.0]]))
    assert third[0].tolist() == pytest.approx([1 / 3, 0.5])
