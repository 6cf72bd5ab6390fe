"""How well a detector does its task, and whether a compiled one's loss of average precision is significant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench_plugin.compare.detecting.average_precision import mean_average_precision, ranked
from bench_plugin.compare.detecting.suppression import Found
from bench_plugin.compare.quality import CONFIDENCE, MOST_DROP
from bench_plugin.compare.strength import Strength, rated
from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison

Array = np.ndarray[Any, Any]

RESAMPLES = 200  # of the images, for the interval of a loss
SEED = 0


@dataclass(frozen=True)
class Loss:
    """What the mean average precision lost against the reference, as shares of 1; negative where it is a gain.

    ``lower`` and ``upper`` are the bounds of the 95 % interval of a paired bootstrap over the images.
    """

    drop: float
    lower: float
    upper: float


class Resampled:
    """The images of a test set and samples of them, the same for all detections that are compared on them.

    ``objects`` are [N, M, 5] in N images: class (below 0: none), x1, y1, x2, y2.
    """

    def __init__(self, objects: Array, classes: int) -> None:
        self._objects, self._classes = objects, classes
        count = len(objects)
        drawn = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
        self._weights = np.concatenate([np.ones((1, count), dtype=np.int64), drawn])

    def values(self, found: Found) -> Array:
        """The mean average precision of detections on the test set and on each of its samples, [1 + RESAMPLES]."""
        return mean_average_precision(ranked(found, self._objects, self._classes), self._weights)


def loss(before: Array, after: Array) -> Loss:
    """The loss of the :meth:`Resampled.values` of detections against those of the reference, [1 + RESAMPLES] each."""
    lost = before - after
    tail = (1 - CONFIDENCE) / 2
    lower, upper = np.nanquantile(lost[1:], (tail, 1 - tail))
    return Loss(float(lost[0]), float(lower), float(upper))


def judged(found: Loss, figures: Mapping[str, Any], reference: Mapping[str, Any]) -> Comparison:
    """The verdict on a compiled detector by its ``figures`` and those of its ``reference``: ``map``, ``map50`` ...

    It is a mismatch where the mean average precision over overlaps fell, with 95 % confidence, by more than MOST_DROP.
    """
    numbers = {
        **figures, "reference_map": reference["map"],
        "drop": {"map": found.drop, "lower": found.lower, "upper": found.upper},
    }  # fmt: skip
    if found.lower > MOST_DROP:
        reason = f"the mean average precision fell by {found.drop:.1%} (at least {found.lower:.1%})"
        return Comparison(MISMATCH, reason, numbers)
    return Comparison(AGREE, "", numbers)


def strength_of_detections(images: Resampled, before: Array, found: Found) -> Strength:
    """Whether the rule on the loss would notice a broken detector.

    ``before`` are the values of the reference, [1 + RESAMPLES].

    The mutants are the detections of one image given for all, and each image with those of its neighbour.
    """
    rows = {}
    for name, given in (("mean output", _same_for_all(found)), ("rows permuted", _rolled(found))):
        lower = loss(before, images.values(given)).lower
        rows[name] = {"killed": lower > MOST_DROP, "ratio": max(lower / MOST_DROP, 0.0)}
    return rated(rows, exact=False)


def _rolled(found: Found) -> Found:
    return Found(found.images, (found.image + 1) % found.images, found.label, found.score, found.boxes)


def _same_for_all(found: Found) -> Found:
    """The detections of the image that has the most of them, for every image."""
    counts = np.bincount(found.image, minlength=found.images)
    mine = found.image == int(counts.argmax())
    times = int(mine.sum())
    return Found(
        found.images, np.repeat(np.arange(found.images), times), np.tile(found.label[mine], found.images),
        np.tile(found.score[mine], found.images), np.tile(found.boxes[mine], (found.images, 1)),
    )  # fmt: skip
