"""Drawn shapes with their boxes: discs, squares and triangles on a rough background, made here from a seed."""

from __future__ import annotations

from typing import Any

from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import FetchCall
from bench_plugin.agent.toolkit import samples, versions

ADAPTER = {
    "name": "shapes",
    "kind": "dataset",
    "toolchain": "datasets",
    "title": "Drawn shapes",
    "distribution": "numpy",
    "operations": ["fetch"],
    "classes": 3,
    "names": ["disc", "square", "triangle"],
}

SIDE = 48  # pixels
TRAIN, TEST = 800, 300
SEED = 0x0B0C5
MOST = 3  # objects in an image; there is at least one
SIZES = (9, 21)  # pixels from edge to edge, the last not included
APART = 2  # pixels at least between the boxes of two objects
TRIES = 20  # for a place that is free
NOISE = 0.06


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def fetch(self, call: FetchCall) -> Reply:
        """``x_train x_test``: float32 [n, 1, 48, 48] in [0, 1]; ``y_train y_test``: int64 [n, 3, 5].

        An object is class, x1, y1, x2, y2 in pixels; class -1 where an image has fewer than three.
        """
        call.stage("build")
        import numpy as np

        rng = np.random.default_rng(SEED)
        drawn = [_image(np, rng) for _ in range(TRAIN + TEST)]
        images = np.stack([image for image, _ in drawn])[:, None].astype(np.float32)
        objects = np.stack([found for _, found in drawn])
        arrays = {
            "x_train": images[:TRAIN], "y_train": objects[:TRAIN], "x_test": images[TRAIN:], "y_test": objects[TRAIN:],
        }  # fmt: skip
        found = int((objects[..., 0] >= 0).sum())
        meta: dict[str, object] = {"classes": 3, "train": TRAIN, "test": TEST, "objects": found}
        return Reply(meta, samples.blobs(arrays))


def _image(np: Any, rng: Any) -> tuple[Any, Any]:
    """An image [SIDE, SIDE] in [0, 1] and its objects, int64 [MOST, 5]."""
    corners = rng.uniform(0.2, 0.8, (2, 2))  # the background runs from corner to corner
    ramp = np.linspace(0, 1, SIDE)
    across = corners[:, :1] + (corners[:, 1:] - corners[:, :1]) * ramp
    image = across[0] + (across[1] - across[0]) * ramp[:, None]
    objects = np.full((MOST, 5), -1, dtype=np.int64)
    boxes: list[tuple[int, int, int, int]] = []
    for _ in range(int(rng.integers(1, MOST + 1))):
        box = _free(rng, boxes)
        if box is None:
            continue
        kind = int(rng.integers(3))
        contrast = rng.choice((-1, 1)) * rng.uniform(0.25, 0.5)
        level = np.clip(image[box[1] : box[3], box[0] : box[2]].mean() + contrast, 0, 1)
        image = np.where(_inside(np, kind, box), level, image)
        objects[len(boxes)] = (kind, *box)
        boxes.append(box)
    return np.clip(image + rng.normal(0, NOISE, image.shape), 0, 1), objects


def _free(rng: Any, boxes: list[tuple[int, int, int, int]]) -> Any:
    """A box x1, y1, x2, y2 that keeps its distance from the others; None where no place was found."""
    for _ in range(TRIES):
        size = int(rng.integers(*SIZES))
        x, y = (int(value) for value in rng.integers(0, SIDE - size + 1, 2))
        box = (x, y, x + size, y + size)
        near = (
            x < other[2] + APART and other[0] < box[2] + APART and y < other[3] + APART and other[1] < box[3] + APART
            for other in boxes
        )
        if not any(near):
            return box
    return None


def _inside(np: Any, kind: int, box: tuple[int, int, int, int]) -> Any:
    """The pixels of a disc (0), a square (1) or a triangle (2) that fills the box, as a mask [SIDE, SIDE]."""
    x1, y1, x2, y2 = box
    rows, columns = np.mgrid[0:SIDE, 0:SIDE] + 0.5
    square = (columns > x1) & (columns < x2) & (rows > y1) & (rows < y2)
    if kind == 1:
        return square
    middle, half = (x1 + x2) / 2, (x2 - x1) / 2
    if kind == 0:
        return (columns - middle) ** 2 + (rows - (y1 + y2) / 2) ** 2 < half**2
    return square & (np.abs(columns - middle) <= half * (rows - y1 + 0.5) / (y2 - y1))
