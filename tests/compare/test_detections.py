"""Detections: order never matters, stable ones must be found, and nothing may be found beyond the unstable ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_plugin.compare.detecting.detections import ROWS, compare_detections, images, overlaps
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED, Comparison
from tests.compare.drawing import LAW, SEEDS, Array

Outputs = dict[str, Array]
ROLES = ("boxes", "labels", "scores")


def scene(seed: int = 0, count: int = 6, inputs: int = 3) -> Outputs:
    """Images with ``count`` detections each: boxes of 40 to 80 pixels, far apart, of 3 classes."""
    random = np.random.default_rng(seed)
    low = np.stack(np.meshgrid(np.arange(count) * 200.0, [0.0]), axis=-1).reshape(1, count, 2)
    low = np.broadcast_to(low, (inputs, count, 2)) + random.uniform(0, 50, (inputs, count, 2))
    boxes = np.concatenate([low, low + random.uniform(40, 80, low.shape)], axis=2)
    labels, scores = random.integers(0, 3, (inputs, count)), random.uniform(0.3, 1, (inputs, count))
    return {"boxes": boxes, "labels": labels, "scores": scores}


def changed(outputs: Outputs, name: str, where: Any, value: Any) -> Outputs:
    """A copy with some elements of one output replaced; a callable changes what is there."""
    copy = outputs[name].copy()
    copy[where] = value(copy[where]) if callable(value) else value
    return {**outputs, name: copy}


def without(outputs: Outputs, index: int) -> Outputs:
    """A copy without one detection of every image."""
    return {name: np.delete(values, index, axis=1) for name, values in outputs.items()}


def doubled(outputs: Outputs, index: int, shift: float = 0.0) -> Outputs:
    """A copy in which one detection of every image is there twice."""
    more = {name: np.concatenate([values, values[:, index : index + 1]], axis=1) for name, values in outputs.items()}
    return changed(more, "boxes", (slice(None), -1), lambda box: box + shift)


def judged(truth: Outputs, actual: Outputs, perturbed: list[Outputs] | None = None, **options: Any) -> Comparison:
    runs = [truth] * 8 if perturbed is None else perturbed
    return compare_detections(truth, runs, actual, tuple(options.pop("roles", ROLES)), **options)


@LAW
@given(SEEDS)
def test_the_truth_agrees_with_itself(seed: int) -> None:
    found = judged(scene(seed), scene(seed))
    assert (found.status, found.reason) == (AGREE, "")
    assert found.numbers["detections"] == found.numbers["stable"] == 18
    assert found.numbers["missed"] == found.numbers["extra"] == found.numbers["worst_score"] == 0
    assert found.numbers["worst_overlap"] == 1


@LAW
@given(SEEDS, st.randoms(), st.booleans())
def test_order_within_an_image_changes_nothing(seed: int, random: Any, wrong: bool) -> None:
    truth = scene(seed)
    actual = changed(truth, "scores", (0, 0), lambda score: score + 0.2) if wrong else truth
    order = random.sample(range(6), 6)
    mixed = {name: values[:, order] for name, values in actual.items()}
    assert judged(truth, mixed) == judged(truth, actual)
    assert judged(truth, mixed).status == (MISMATCH if wrong else AGREE)


@LAW
@given(st.randoms())
def test_order_changes_nothing_where_boxes_are_equal(random: Any) -> None:
    truth = scene(0)
    truth = changed(truth, "boxes", np.s_[:], truth["boxes"][:, :1])
    truth = changed(truth, "labels", np.s_[:], 1)
    order = random.sample(range(6), 6)
    assert judged(truth, {name: values[:, order] for name, values in truth.items()}).status == AGREE


def test_the_order_of_images_matters() -> None:
    truth = scene(0)
    assert judged(truth, {name: values[::-1] for name, values in truth.items()}).status == MISMATCH


@pytest.mark.parametrize("precision, overlap, score", [("fp32", 0.99, 1e-3), ("fp16", 0.95, 1e-2), ("bf16", 0.9, 5e-2)])
def test_limits_by_precision(precision: str, overlap: float, score: float) -> None:
    truth = scene(1)

    def shrunk(box: Array, to: float) -> Array:
        smaller = box.copy()
        smaller[..., 2] = box[..., 0] + (box[..., 2] - box[..., 0]) * to
        return smaller

    for to, status in (((1 + overlap) / 2, AGREE), (overlap - 0.01, MISMATCH)):
        actual = changed(truth, "boxes", (1, 2), lambda box, to=to: shrunk(box, to))
        found = judged(truth, actual, precision=precision)
        assert found.status == status
        assert found.numbers["worst_overlap"] == pytest.approx(to)
    for off, status in ((score / 2, AGREE), (-score / 2, AGREE), (2 * score, MISMATCH)):
        actual = changed(truth, "scores", (1, 2), lambda value, off=off: value + off)
        assert judged(truth, actual, precision=precision).status == status


def test_another_class_is_another_detection() -> None:
    truth = scene(0)
    found = judged(truth, changed(truth, "labels", (0, 0), 7))
    assert found.status == MISMATCH
    assert found.reason == (
        "1 of 18 stable detections missed, 1 extra; missed: image 0, class 1, score 0.648, nothing of its class there; "
        "extra: image 0, class 7, score 0.648"
    )


def test_a_missed_detection_is_seen() -> None:
    found = judged(scene(0), without(scene(0), 2))
    assert found.status == MISMATCH
    assert found.reason == (
        "3 of 18 stable detections missed, 0 extra; missed: image 0, class 1, score 0.85, nothing of its class there"
    )


def test_an_invented_detection_is_seen() -> None:
    found = judged(without(scene(0), 2), scene(0))
    assert (found.status, found.reason) == (
        MISMATCH, "0 of 15 stable detections missed, 3 extra; extra: image 0, class 1, score 0.85",
    )  # fmt: skip


@pytest.mark.parametrize("shift", [0.0, 5.0])
def test_a_detection_found_twice_is_seen(shift: float) -> None:
    found = judged(scene(0), doubled(scene(0), 2, shift))
    assert (found.status, found.reason) == (
        MISMATCH, "0 of 18 stable detections missed, 3 extra; extra: image 0, class 1, score 0.85",
    )  # fmt: skip


def test_what_comes_and_goes_may_come_and_go() -> None:
    more, fewer = scene(0), without(scene(0), 2)
    for truth in (more, fewer):
        for actual in (more, fewer):
            found = judged(truth, actual, [more, fewer])
            assert found.status == AGREE
            assert found.numbers["stable"] == 15


def test_an_unstable_detection_excuses_only_its_place() -> None:
    more, fewer = scene(0), without(scene(0), 2)
    moved = changed(more, "boxes", (slice(None), 2), lambda box: box + 500)
    assert judged(more, moved, [more, fewer]).status == MISMATCH
    relabelled = changed(more, "labels", (slice(None), 2), 9)
    assert judged(more, relabelled, [more, fewer]).status == MISMATCH


def test_a_score_that_moves_with_the_rounding_is_unstable() -> None:
    truth = scene(0)
    other = changed(truth, "scores", (0, 0), lambda score: score + 0.01)
    assert judged(truth, other).status == MISMATCH
    found = judged(truth, other, [truth, other])
    assert (found.status, found.numbers["stable"]) == (AGREE, 17)


@pytest.mark.parametrize("count, status", [(3, UNVERIFIED), (4, AGREE)])
def test_few_stable_detections_prove_nothing(count: int, status: str) -> None:
    truth = scene(0, count)
    assert judged(truth, truth).status == status


def test_few_stable_detections_can_still_be_wrong() -> None:
    assert judged(scene(0, 3), without(scene(0, 3), 0)).status == MISMATCH


def test_no_detections_prove_nothing() -> None:
    empty = scene(0, 0)
    assert judged(empty, empty).status == UNVERIFIED
    assert judged(empty, scene(0)).status == MISMATCH


def test_without_perturbed_runs_nothing_is_proven() -> None:
    assert judged(scene(0), scene(0), []).status == UNVERIFIED
    short = {name: values[:2] for name, values in scene(0).items()}
    assert judged(scene(0), scene(0), [scene(0), short]).status == UNVERIFIED


@pytest.mark.parametrize("name", ["boxes", "scores"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_never_passes(name: str, bad: float) -> None:
    broken = changed(scene(0), name, (0, 0), bad)
    found = judged(scene(0), broken)
    assert (found.status, found.reason) == (MISMATCH, "image 0 has boxes or scores that are not finite")
    assert judged(broken, scene(0), [scene(0)]).status == UNVERIFIED


def test_padding_is_no_detection() -> None:
    truth = scene(0)
    padded = {
        "boxes": np.pad(truth["boxes"], ((0, 0), (0, 4), (0, 0))),
        "labels": np.pad(truth["labels"], ((0, 0), (0, 4)), constant_values=-1),
        "scores": np.pad(truth["scores"], ((0, 0), (0, 4)), constant_values=np.nan),
    }
    assert judged(truth, padded).status == AGREE
    assert judged(padded, truth).numbers["detections"] == 18


def ragged(outputs: Outputs, counts: list[int]) -> Outputs:
    """The first ``counts[i]`` detections of image i, one after the other."""
    found: Outputs = {}
    for name, values in outputs.items():
        found[name] = np.concatenate([image[:count] for image, count in zip(values, counts, strict=True)])
        found[name + ROWS] = np.array(counts)
    return found


def test_images_may_have_different_numbers_of_detections() -> None:
    truth = ragged(scene(0), [6, 0, 5])
    assert [len(one) for one in images(truth, ROLES)] == [6, 0, 5]
    assert judged(truth, truth).status == AGREE
    found = judged(truth, ragged(scene(0), [6, 1, 5]))
    assert (found.status, found.reason) == (
        MISMATCH, "0 of 11 stable detections missed, 1 extra; extra: image 1, class 0, score 0.952",
    )  # fmt: skip
    assert judged(truth, ragged(scene(0), [5, 1, 5])).numbers["missed"] == 1


def test_what_cannot_be_read_as_detections_never_passes() -> None:
    truth = scene(0)
    for actual, reason in (
        ({"boxes": truth["boxes"], "labels": truth["labels"]}, "2 outputs where 3 are needed"),
        ({}, "0 outputs where 3 are needed"),
        (changed(truth, "scores", np.s_[:], 0.5) | {"scores": truth["scores"][:, :5]}, "image 0 has 6 boxes, 6 labels"),
        (truth | {"labels": truth["labels"][:2]}, "outputs are of"),
        (truth | {"boxes": truth["boxes"][:, :, :3]}, "image 0 has|cannot reshape"),
        ({name: values[:2] for name, values in truth.items()}, "2 images, expected 3"),
    ):
        found = judged(truth, actual)
        assert found.status == MISMATCH
        assert any(found.reason.startswith(one) for one in reason.split("|")), found.reason


def with_masks(outputs: Outputs, size: int = 20) -> Outputs:
    shape = (*outputs["labels"].shape, 1, size, size)
    masks = np.zeros(shape, np.float32)
    masks[..., 2:18, 2:18] = 0.9
    return {**outputs, "masks": masks}


def test_masks_have_to_overlap_as_well() -> None:
    roles, truth = (*ROLES, "masks"), with_masks(scene(0))
    assert judged(truth, truth, roles=roles).status == AGREE
    softer = changed(truth, "masks", truth["masks"] > 0, np.float32(0.6))
    assert judged(truth, softer, roles=roles).status == AGREE
    smaller = changed(truth, "masks", (0, 0, 0, 2), np.float32(0))
    found = judged(truth, smaller, roles=roles)
    assert (found.status, found.numbers["worst_mask"]) == (MISMATCH, 15 / 16)
    assert judged(truth, smaller).status == AGREE
    assert judged(truth, with_masks(scene(0), 21), roles=roles).status == MISMATCH
    assert judged(truth, scene(0), roles=roles).status == MISMATCH


def test_empty_masks_are_equal() -> None:
    roles, truth = (*ROLES, "masks"), with_masks(scene(0))
    empty = changed(truth, "masks", np.s_[:], np.float32(0))
    assert judged(empty, empty, roles=roles).status == AGREE


@LAW
@given(SEEDS)
def test_overlap_is_symmetric_and_between_none_and_all(seed: int) -> None:
    low = np.random.default_rng(seed).uniform(0, 10, (9, 2))
    boxes = np.concatenate([low, low + np.random.default_rng(seed + 1).uniform(0.1, 10, (9, 2))], axis=1)
    found = overlaps(boxes[:5], boxes[5:])
    assert found.shape == (5, 4)
    assert (found >= 0).all()
    assert (found <= 1).all()
    np.testing.assert_allclose(found, overlaps(boxes[5:], boxes[:5]).T)
    np.testing.assert_allclose(np.diag(overlaps(boxes, boxes)), 1)
    np.testing.assert_allclose(overlaps(3 * boxes[:5] + 7, 3 * boxes[5:] + 7), found, atol=1e-12)


def test_overlap_by_hand() -> None:
    one = np.array([[0.0, 0.0, 2.0, 2.0]])
    others = np.array([[1.0, 1.0, 3.0, 3.0], [2.0, 0.0, 4.0, 2.0], [0.0, 0.0, 2.0, 2.0], [9.0, 9.0, 9.0, 9.0]])
    np.testing.assert_allclose(overlaps(one, others), [[1 / 7, 0, 1, 0]])
    np.testing.assert_allclose(overlaps(others[3:], others[3:]), [[1]])


def test_pixels_at_the_threshold_decide_nothing() -> None:
    roles, truth = (*ROLES, "masks"), with_masks(scene(0))
    truth = changed(truth, "masks", np.s_[..., 2], np.float32(0.50001))
    flipped = changed(truth, "masks", np.s_[..., 2], np.float32(0.49999))
    assert judged(truth, flipped, roles=roles).status == AGREE


def test_a_mismatch_says_what_the_missed_detection_was_matched_with() -> None:
    roles, truth = (*ROLES, "masks"), with_masks(scene(0))
    raised = changed(truth, "scores", (1, 4), lambda score: score + 0.002)
    found = judged(truth, raised, roles=roles)
    assert found.reason == (
        "1 of 18 stable detections missed, 1 extra; missed: image 1, class 1, score 0.978, its match overlaps by 1, "
        "scores 2.0e-03 apart; extra: image 1, class 1, score 0.98"
    )
    halved = judged(truth, changed(truth, "masks", (2, 3, 0, slice(2, 10)), np.float32(0)), roles=roles)
    assert ", its match overlaps by 1, scores 0.0e+00 apart, masks overlap by 0.5; extra: image 2, cl" in halved.reason
