"""Terms that are added one by one in their order: which terms a reduction and a pooling have, and what is lost."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from bench_plugin.adapters.onnx_tools.shared import onnx_added

X = np.random.default_rng(0).standard_normal((2, 3, 7, 9))


@pytest.mark.parametrize(
    ("kernel", "strides", "pads"),
    [([3, 2], [2, 1], [1, 0, 1, 1]), ([7, 9], [], []), ([2, 2], [2, 2], [0, 0, 0, 0]), ([1, 3], [3, 4], [])],
)
def test_the_terms_of_a_pooling_are_its_windows(kernel: list[int], strides: list[int], pads: list[int]) -> None:
    terms = onnx_added.windows(X, kernel, strides, pads)
    assert len(terms) == kernel[0] * kernel[1]
    down, right = strides or (1, 1)
    top, left, bottom, beside = pads or (0, 0, 0, 0)
    padded = np.pad(X, ((0, 0), (0, 0), (top, bottom), (left, beside)))
    rows, columns = (size - one + 1 for size, one in zip(padded.shape[2:], kernel, strict=True))
    sums = [
        [padded[:, :, i : i + kernel[0], j : j + kernel[1]].sum((2, 3)) for j in range(0, columns, right)]
        for i in range(0, rows, down)
    ]
    assert np.sum(terms, axis=0) == pytest.approx(np.moveaxis(np.array(sums), (0, 1), (2, 3)))


@pytest.mark.parametrize("axes", [[1], [-1, 1], [0, 2, 3], None, np.array([2])])
def test_the_terms_of_a_reduction_are_in_the_order_of_its_axes(axes: Any) -> None:
    over = tuple(range(4)) if axes is None else tuple(int(axis) % 4 for axis in axes)
    terms = onnx_added.reduced(X, axes)
    assert terms.sum(0) == pytest.approx(X.sum(over))
    places = itertools.product(*(range(X.shape[axis]) if axis in over else [0] for axis in range(4)))
    assert [float(np.ravel(term)[0]) for term in terms] == [X[place] for place in places]


def test_each_sum_is_rounded() -> None:
    terms = np.array([[2048.0], [1.0], [1.0], [1.0]])  # in float16 the next number is 2050
    assert onnx_added.error_in_order(terms, "float16") == [-3.0]
    assert onnx_added.error_in_order(terms, "float32") == [0.0]
    assert onnx_added.error_in_order(terms[::-1], "float16") == [1.0], "2051 is between 2050 and 2052, a tie to even"
    assert onnx_added.error_in_order(np.array([[256.0], [1.0]]), "bfloat16") == [-1.0]


def test_a_sum_beyond_the_format_or_of_very_many_terms_is_not_known() -> None:
    assert onnx_added.error_in_order(np.full((2, 1), 60000.0), "float16") == [0.0]
    many = np.full((onnx_added.MOST + 1, 1), 1.0)
    assert onnx_added.error_in_order(many, "float16") == [0.0] != onnx_added.error_in_order(many[1:], "float16")


def test_the_larger_error_of_a_tensor_counts() -> None:
    drawn, in_order = np.array([3.0, 0.0]), np.array([2.0, 2.0])
    assert onnx_added.larger(drawn, in_order) is drawn
    assert onnx_added.larger(drawn, 2 * in_order).tolist() == [4.0, 4.0]
