"""From the boxes and scores of every place to detections: non-maximum suppression outside the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bench_plugin.compare.detecting.detections import overlaps

Array = np.ndarray[Any, Any]

LEAST_SCORE = 0.05  # a lower score makes no detection
OVERLAP = 0.5  # of two boxes of a class that overlap by more, the one with the lower score is dropped
MOST = 100  # detections of an image, those with the highest scores


@dataclass(frozen=True)
class Found:
    """The D detections in N images, image by image, those of a class by falling score.

    ``image`` and ``label`` are integers [D], ``score`` float64 [D], ``boxes`` float64 [D, 4] as x1, y1, x2, y2.
    """

    images: int
    image: Array
    label: Array
    score: Array
    boxes: Array

    def arrays(self) -> dict[str, Array]:
        """The arrays by name."""
        return {"image": self.image, "label": self.label, "score": self.score, "boxes": self.boxes}


def suppressed(boxes: Array, scores: Array) -> Found:
    """The detections of boxes [N, P, 4] and scores [N, P, C] of P places and C classes in N images.

    Raises ValueError for shapes that do not belong together, and for values that are not finite.
    """
    if boxes.ndim != 3 or scores.ndim != 3 or boxes.shape[2] != 4 or boxes.shape[:2] != scores.shape[:2]:
        raise ValueError(f"boxes {list(boxes.shape)} and scores {list(scores.shape)} are not of the same places")
    boxes, scores = boxes.astype(np.float64), scores.astype(np.float64)
    wrong = int((~np.isfinite(boxes)).sum() + (~np.isfinite(scores)).sum())
    if wrong:
        raise ValueError(f"{wrong} of {boxes.size + scores.size} coordinates and scores are NaN or Inf")
    rows: list[tuple[int, int, float, Array]] = []
    for image in range(len(boxes)):
        mine = [row for label in range(scores.shape[2]) for row in _of_class(image, label, boxes[image], scores[image])]
        least = sorted((row[2] for row in mine), reverse=True)[MOST - 1] if len(mine) > MOST else 0.0
        rows += [row for row in mine if row[2] >= least]
    return Found(
        len(boxes), np.array([row[0] for row in rows], dtype=np.int64),
        np.array([row[1] for row in rows], dtype=np.int64), np.array([row[2] for row in rows], dtype=np.float64),
        np.array([row[3] for row in rows], dtype=np.float64).reshape(-1, 4),
    )  # fmt: skip


def _of_class(image: int, label: int, boxes: Array, scores: Array) -> list[tuple[int, int, float, Array]]:
    likely = np.flatnonzero(scores[:, label] >= LEAST_SCORE)
    order = likely[np.argsort(-scores[likely, label], kind="stable")]
    common = overlaps(boxes[order], boxes[order])
    left = np.ones(len(order), dtype=bool)
    kept = []
    for place in range(len(order)):
        if left[place]:
            kept.append(order[place])
            left[place + 1 :] &= common[place, place + 1 :] <= OVERLAP
    return [(image, label, float(scores[place, label]), boxes[place]) for place in kept]
