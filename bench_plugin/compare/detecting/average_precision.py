"""Average precision by COCO's rules, of every bootstrap sample of the images at once: for the interval of a loss.

The figures that rows and reports show come from faster-coco-eval (adapters/characterise/detection_metrics.py); what is
computed here equals them, and is fast enough to be computed for hundreds of samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench_plugin.compare.detecting.detections import overlaps
from bench_plugin.compare.detecting.suppression import Found

Array = np.ndarray[Any, Any]

OVERLAPS = tuple(np.linspace(0.5, 0.95, 10).tolist())  # COCO's thresholds
RECALLS = np.linspace(0.0, 1.0, 101)
TINY = float(np.spacing(1))


@dataclass(frozen=True)
class Ranked:
    """The D detections of one class by falling score, in ``images`` [D], and which are ``right`` [T, D] at T overlaps.

    ``objects`` [N] counts the objects of the class in each image.
    """

    images: Array
    right: Array
    objects: Array


def ranked(found: Found, objects: Array, classes: int, thresholds: Sequence[float] = OVERLAPS) -> list[Ranked]:
    """The detections of every class matched with the objects [N, M, 5]: class (below 0: none), x1, y1, x2, y2.

    In an image the detections choose by falling score, each the free object of its class that it overlaps most.
    """
    classes_found = []
    for label in range(classes):
        images, scores, right = [], [], []
        counts = (objects[..., 0] == label).sum(axis=1)
        for image in np.unique(found.image[found.label == label]):
            mine = (found.label == label) & (found.image == image)
            own = objects[image][objects[image][:, 0] == label][:, 1:].astype(np.float64)
            images += [image] * int(mine.sum())
            scores.append(found.score[mine])
            right.append(_matched(overlaps(found.boxes[mine], own), thresholds))
        order = np.argsort(-np.concatenate(scores), kind="stable") if scores else np.zeros(0, dtype=np.int64)
        hits = np.concatenate(right, axis=1) if right else np.zeros((len(thresholds), 0), dtype=bool)
        classes_found.append(Ranked(np.array(images, dtype=np.int64)[order], hits[:, order], counts))
    return classes_found


def mean_average_precision(classes: Sequence[Ranked], weights: Array) -> Array:
    """The mean over classes and overlaps of the average precision, [R], with the images weighted by ``weights`` [R, N].

    A class without an object does not count; without any class it is NaN.
    """
    found = [values for one in classes for values in _of_class(one, weights)]
    if not found:
        return np.full(len(weights), np.nan)
    values = np.stack(found)
    known = ~np.isnan(values)
    total = np.where(known, values, 0.0).sum(axis=0)
    mean: Array = np.divide(total, known.sum(axis=0), out=np.full(len(weights), np.nan), where=known.any(axis=0))
    return mean


def _of_class(one: Ranked, weights: Array) -> Iterator[Array]:
    """The average precision [R] of a class at each overlap; NaN where the weighted images have no object of it."""
    objects = weights @ one.objects
    mine = weights[:, one.images]
    seen = np.cumsum(mine, axis=1)
    for right in one.right:
        hits = np.cumsum(mine[:, right], axis=1)  # precision is largest where a detection is right
        values = np.zeros(len(weights))
        if hits.size:
            recall = hits / np.maximum(objects, 1)[:, None]
            precision = hits / (seen[:, right] + TINY)
            best = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
            best = np.concatenate([best, np.zeros((len(best), 1))], axis=1)  # for a recall that is never reached
            for place in range(len(weights)):
                values[place] = best[place, np.searchsorted(recall[place], RECALLS, side="left")].mean()
        values[objects == 0] = np.nan
        yield values


def _matched(common: Array, thresholds: Sequence[float]) -> Array:
    """Which of D detections are right, [T, D], by their overlaps [D, M] with the M objects of their class and image."""
    found = np.zeros((len(thresholds), len(common)), dtype=bool)
    for row, least in enumerate(thresholds):
        free = np.ones(common.shape[1], dtype=bool)
        for place, mine in enumerate(common):
            likely = np.where(free, mine, -1.0)
            if not likely.size or likely.max() < min(least, 1 - 1e-10):
                continue
            free[len(likely) - 1 - int(np.argmax(likely[::-1]))] = False  # of equal overlaps COCO takes the last
            found[row, place] = True
    return found
