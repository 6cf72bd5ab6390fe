"""Outputs that are the numbers of chosen elements: how far other elements are from the chosen ones."""

from __future__ import annotations

import numpy as np
import pytest

from bench_plugin.compare.chosen import Chosen

VALUES = np.array([[[4.0, 1.0], [3.0, 5.0], [0.0, 2.0]], [[0.0, 3.0], [2.0, 1.0], [6.0, 9.0]]])  # 2 inputs, 3 x 2
RMS = float(np.sqrt(np.mean((VALUES - VALUES.mean(axis=0)) ** 2)))
LARGEST = Chosen(VALUES, np.array([[0.0, 1.0], [2.0, 2.0]]), -2)
TWO = Chosen(VALUES, np.array([[[0, 1], [1, 2]], [[2, 2], [1, 0]]]), -2)


def test_the_same_elements_are_no_error() -> None:
    assert LARGEST.error(np.array([[0, 1], [2, 2]])) == 0.0
    assert LARGEST.error(np.array([[[-3, -2]], [[-1, -1]]])) == 0.0, "numbers may be counted from the end"


@pytest.mark.parametrize(("other", "off"), [(1, 4.0 - 3.0), (2, 4.0 - 0.0)])
def test_an_error_is_what_the_other_element_is_less_of_what_inputs_change(other: int, off: float) -> None:
    assert LARGEST.error(np.array([[other, 1], [2, 2]])) == pytest.approx(off / np.sqrt(4) / RMS)


def test_of_several_chosen_elements_the_order_counts() -> None:
    assert TWO.error(TWO.numbers) == 0.0
    others = TWO.numbers.copy()
    others[0, :, 0] = 1, 0  # 3 and 4 in place of 4 and 3
    assert TWO.error(others) == pytest.approx(np.sqrt(2 / 8) / RMS)


def test_the_inputs_that_both_have_are_compared() -> None:
    assert LARGEST.error(np.array([[0, 1], [2, 2], [0, 0]])) == 0.0
    assert Chosen(VALUES[:1], np.array([[0, 1]]), -2).error(np.array([[0, 1], [0, 0]])) == 0.0
    assert LARGEST.error(np.array([[0, 1]])) == 0.0
    assert LARGEST.error(np.array([[0, 0]])) > 0.0


@pytest.mark.parametrize("others", [[[0, 3], [2, 2]], [[0, -4], [2, 2]], [[0, 1, 0], [2, 2, 0]]])
def test_numbers_of_nothing_are_infinitely_far(others: list[list[int]]) -> None:
    assert LARGEST.error(np.array(others)) == float("inf")


def test_what_inputs_do_not_change_has_no_unit() -> None:
    same = Chosen(np.array([[4.0, 1.0], [4.0, 1.0]]), np.array([0, 0]), -1)
    assert same.error(np.array([0, 0])) == 0.0
    assert same.error(np.array([0, 1])) == float("inf")
