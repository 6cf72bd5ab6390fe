"""The loss of a small detector in PyTorch: focal loss of the scores, overlap and distance of the boxes.

The detector's places are a square grid over a square image, row by row; an object belongs to the place that its centre
lies in.
"""

from __future__ import annotations

from typing import Any

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "detection_loss",
    "kind": "tool",
    "toolchain": "pytorch",
    "title": "Loss of a detector",
    "operations": [],
}

LEAST = 1e-4  # a probability is at least so far away from 0 and 1, so that its logarithm is finite
OF_DISTANCE = 5.0  # the weight of distances, in sides of the image, beside that of overlaps


class Adapter:
    """Remembers nothing; the adapters that use this file take its function."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("torch")

    def reset(self) -> None:
        """Nothing to forget."""


def of_boxes(torch: Any, found: Any, objects: Any, side: int) -> Any:
    """The loss, a scalar, of boxes [B, P, 4] and scores [B, P, C] for objects [B, M, 5] in images of ``side`` pixels.

    Scores are probabilities; an object is class, x1, y1, x2, y2 in pixels, with a class below 0 where there is none.
    """
    boxes, scores = found
    places = scores.shape[1]
    across = round(places**0.5)
    image, slot = torch.nonzero(objects[..., 0] >= 0, as_tuple=True)
    one = objects[image, slot]
    corners = one[:, 1:].to(boxes.dtype)
    column, row = (((corners[:, axis] + corners[:, axis + 2]) / 2 / side * across).long() for axis in (0, 1))
    place = row * across + column
    wanted = torch.zeros_like(scores)
    wanted[image, place, one[:, 0]] = 1.0
    likely = scores.clamp(LEAST, 1 - LEAST)
    hit = wanted * (1 - likely) ** 2 * likely.log()
    miss = (1 - wanted) * likely**2 * (1 - likely).log()
    mine = boxes[image, place]
    low, high = torch.maximum(mine[:, :2], corners[:, :2]), torch.minimum(mine[:, 2:], corners[:, 2:])
    common = (high - low).clamp(min=0).prod(dim=1)
    union = _areas(mine) + _areas(corners) - common
    distance = (mine - corners).abs().sum(dim=1) / side
    of_each = (1 - common / union.clamp(min=1.0)) + OF_DISTANCE * distance
    return (of_each.sum() - (hit + miss).sum()) / max(len(one), 1)


def _areas(boxes: Any) -> Any:
    return (boxes[:, 2:] - boxes[:, :2]).clamp(min=0).prod(dim=1)
