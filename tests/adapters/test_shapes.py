"""The drawn shapes: the same every time, boxes that hold what was drawn, all classes in both halves."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from bench_plugin.adapters.datasets import shapes
from bench_plugin.agent.arrays import to_numpy
from bench_plugin.agent.contract import FetchCall


@cache
def fetched() -> dict[str, Any]:
    reply = shapes.Adapter().fetch(FetchCall())
    return {name: to_numpy(array) for name, array in reply.arrays.items()}


def test_images_and_objects_have_the_declared_shapes() -> None:
    arrays = fetched()
    assert arrays["x_train"].shape == (800, 1, 48, 48) and arrays["x_train"].dtype == np.float32
    assert arrays["y_test"].shape == (300, 3, 5) and arrays["y_test"].dtype == np.int64
    assert arrays["x_test"].min() >= 0 and arrays["x_test"].max() <= 1
    for half in ("y_train", "y_test"):
        labels = arrays[half][..., 0]
        assert set(np.unique(labels)) == {-1, 0, 1, 2} and (labels[:, 0] >= 0).all()


def test_boxes_lie_in_the_image_and_apart() -> None:
    for image in fetched()["y_test"]:
        boxes = image[image[:, 0] >= 0][:, 1:]
        assert ((boxes[:, :2] >= 0) & (boxes[:, 2:] <= 48) & (boxes[:, 2:] - boxes[:, :2] >= 9)).all()
        for place, one in enumerate(boxes):
            for other in boxes[:place]:
                assert (one[:2] >= other[2:]).any() or (other[:2] >= one[2:]).any()


def test_an_object_is_drawn_in_its_box_and_of_its_class() -> None:
    corner = {0: False, 1: True, 2: False}  # whether the upper left pixel of the box belongs to the object
    for kind, filled in corner.items():
        mask = shapes._inside(np, kind, (10, 12, 30, 32))
        rows, columns = np.nonzero(mask)
        assert (rows.min(), rows.max(), columns.min(), columns.max()) == (12, 31, 10, 29) and mask[12, 10] == filled


def test_it_is_the_same_every_time() -> None:
    again = shapes.Adapter().fetch(FetchCall())
    assert all((to_numpy(array) == fetched()[name]).all() for name, array in again.arrays.items())
