"""Boxes that a TopK chose, by approximation: the ones of the same index are compared, which ones they are apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.quantised import compare_by_approximation
from bench_plugin.compare.verdict import AGREE, MISMATCH
from bench_plugin.pipeline.judging.judge_noise import choices, noisy, signal_to_noise

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)
INDEX = np.stack([RNG.permutation(40)[:10] for _ in range(16)])[:, None]  # [16, 1, 10]
ALL = RNG.normal(size=(16, 1, 40, 4))
TRUTH = {"index": INDEX, "boxes": np.take_along_axis(ALL, INDEX[..., None], axis=2)}
CHOSEN = choices(TRUTH, {"TopK": 1, "Conv": 3})


def run(other: int, noise: float, *, boxes_of: Array | None = None) -> dict[str, Array]:
    """A run in which each input has so many other choices than the reference, and boxes with this much noise."""
    index = INDEX.copy()
    index[..., :other] = (index[..., :other] + 1) % 40
    boxes = np.take_along_axis(ALL, (index if boxes_of is None else boxes_of)[..., None], axis=2)
    return {"out0": index, "out1": boxes + noise * RNG.normal(size=boxes.shape)}


def verdict(own: dict[str, Array], actual: dict[str, Array], chosen: list[str] = CHOSEN) -> str:
    ours, theirs = signal_to_noise(TRUTH, own, chosen, own=True), signal_to_noise(TRUTH, actual, chosen)
    return compare_by_approximation(ours, theirs, integers=["index"]).status


def test_another_choice_is_no_noise_of_the_boxes() -> None:
    assert CHOSEN == ["index"]
    own, right = run(2, 0.02), run(3, 0.02)
    assert signal_to_noise(TRUTH, right, CHOSEN)["boxes"] == pytest.approx(34, abs=1)
    assert signal_to_noise(TRUTH, right)["boxes"] == pytest.approx(2, abs=2)
    lucky = run(0, 0.02) | {"out0": run(2, 0)["out0"]}  # our own, whose other choices hardly change its boxes
    assert verdict(lucky, right, []) == MISMATCH and verdict(lucky, right) == AGREE
    assert verdict(own, right) == AGREE


def test_wrong_boxes_and_too_many_other_choices_are_noticed() -> None:
    own = run(2, 0.02)
    assert verdict(own, run(2, 0.02, boxes_of=np.roll(INDEX, 1, axis=-1))) == MISMATCH, "the boxes of other choices"
    assert verdict(own, run(2, 0.05)) == MISMATCH
    assert verdict(own, run(5, 0.02)) == MISMATCH, "more than twice as many as our own"
    assert verdict(own, run(10, 9.0)) == MISMATCH, "no choice is the same"


@pytest.mark.parametrize(("own", "most"), [(0, 1), (1, 5), (16, 41), (64, 145)])
def test_few_labels_of_another_kind_are_a_matter_of_chance(own: int, most: int) -> None:
    def labels(differ: int) -> dict[str, Array]:
        return {"out0": (np.arange(400) < differ).astype(np.int64)}

    truth = {"label": np.zeros(400, np.int64)}
    ours = signal_to_noise(truth, labels(own), own=True)
    found = [
        compare_by_approximation(ours, signal_to_noise(truth, labels(one)), integers=["label"]).status
        for one in (most, most + 1)
    ]
    assert found == [AGREE, MISMATCH]


def test_mutants_are_held_against_the_same_figure() -> None:
    faults = {"mutant": dict(zip(TRUTH, run(3, 0.02).values(), strict=True))}
    assert not noisy(TRUTH, faults, 28.0, CHOSEN)["mutant"]["killed"]
    assert noisy(TRUTH, faults, 28.0)["mutant"]["killed"]


def test_labels_are_no_choices() -> None:
    assert choices(TRUTH, ["Conv", "TopK"]) == ["index"] and choices(TRUTH, ["ArgMax"]) == []
    assert choices({"label": np.zeros((16, 1), np.int64), "scores": np.zeros((16, 1, 9))}, ["TopK"]) == []
