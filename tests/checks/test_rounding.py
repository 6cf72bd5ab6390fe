"""Which of the roundings that a tool may choose is compared with, and which one a row names."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from bench_plugin.checks.equivalence.rounding import fitting, from_unrounded, roundings
from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison, unverified
from bench_plugin.domain.outcome import Unverified


@pytest.mark.parametrize(
    ("operators", "graphs"),
    [
        ({"Conv": 1}, ["w16"]),
        ({"LSTM": 1}, ["w16", "w16+computed", "w16+summed"]),
        ({"Conv": 1, "BatchNormalization": 1}, ["w16", "w16+folded"]),
        ({"MatMul": 1, "Mul": 1}, ["w16", "w16+scaled"]),
        ({"Conv": 1, "Mul": 1}, ["w16", "w16+scaled"]),
        ({"MatMul": 1, "Add": 1}, ["w16"]),
        ({"MatMul": 1, "Div": 1}, ["w16", "w16+scaled"]),
        ({"Gemm": 1, "Add": 1}, ["w16", "w16+scaled"]),
        (
            {"GRU": 1, "BatchNormalization": 1},
            ["w16", "w16+computed", "w16+summed", "w16+folded", "w16+folded+summed"],
        ),
    ],
)
def test_only_what_a_file_has_is_folded_or_summed(operators: dict[str, int], graphs: list[str]) -> None:
    assert [graph for graph, _ in roundings("w16", operators)] == graphs


def judged(
    needed: dict[str, float],
    choose: Callable[[str], Iterable[tuple[str, str]]] = lambda graph: (),
    notes: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Comparison, str, list[str]]:
    """What is found where each rounding of a file with LSTM and BatchNormalization is off by so many tolerances."""
    asked: list[str] = []

    def compare(graph: str) -> Comparison:
        asked.append(graph)
        status = AGREE if needed[graph] <= 1 else MISMATCH
        return Comparison(status, graph, {"needed": needed[graph]}, (notes[graph],) if graph in notes else ())

    comparison, words = fitting(roundings("w16", ["LSTM", "BatchNormalization"]), compare, choose)
    return comparison, words, asked


ALL = {"w16": 9.0, "w16+computed": 8.0, "w16+summed": 7.0, "w16+folded": 3.0, "w16+folded+summed": 4.0}


def test_the_first_one_that_fits_is_named_and_the_others_are_not_computed() -> None:
    comparison, words, asked = judged({"w16": 9, "w16+computed": 8, "w16+summed": 0.5})
    assert (comparison.status, words) == (AGREE, "biases summed")
    assert asked == ["w16", "w16+computed", "w16+summed"]


def test_a_file_that_is_rounded_as_it_is_needs_one_comparison() -> None:
    _, words, asked = judged({"w16": 0.9})
    assert (words, asked) == ("as written", ["w16"])


def test_where_none_fits_the_nearest_is_the_mismatch() -> None:
    comparison, words, asked = judged(ALL)
    assert (comparison.status, comparison.reason, words) == (MISMATCH, "w16+folded", "BatchNormalization folded")
    assert len(asked) == 5


def test_constants_are_chosen_for_the_nearest_ways_first() -> None:
    chosen: list[str] = []

    def choose(graph: str) -> list[tuple[str, str]]:
        chosen.append(graph)
        return [(f"{graph}+only-3", "2 of 5 constants, not a, b, c")]

    needed = ALL | {"w16+folded+only-3": 2.5, "w16+folded+summed+only-3": 0.5}
    comparison, words, asked = judged(needed, choose)
    assert chosen == ["w16+folded", "w16+folded+summed"] and len(asked) == 7
    assert (comparison.status, comparison.reason) == (AGREE, "w16+folded+summed+only-3")
    assert words == "BatchNormalization folded, biases summed, 2 of 5 constants, not a, b, c"


def test_no_more_than_three_ways_are_tried_with_chosen_constants_and_the_mismatch_stays_that_of_the_file() -> None:
    chosen: list[str] = []

    def choose(graph: str) -> list[tuple[str, str]]:
        chosen.append(graph)
        return [("other", "none")]

    comparison, words, _ = judged(ALL | {"other": 2.0}, choose)
    assert chosen == ["w16+folded", "w16+folded+summed", "w16+summed"]
    assert (comparison.status, comparison.reason, words) == (MISMATCH, "w16+folded", "BatchNormalization folded")


@pytest.mark.parametrize("note", ["loose", "one-by-one sums", "low-precision accumulate"])
def test_what_agrees_by_a_wider_tolerance_alone_counts_where_no_other_agrees(note: str) -> None:
    needed, wide = ALL | {"w16": 0.3}, {"w16": note}
    comparison, words, asked = judged(needed, notes=wide)
    assert (comparison.status, words, len(asked)) == (AGREE, "as written", 5)
    comparison, words, asked = judged(needed | {"w16+folded": 0.9}, notes=wide)
    assert (comparison.reason, words, len(asked)) == ("w16+folded", "BatchNormalization folded", 4)
    second = {"w16": [("w16+only-3", "2 of 5 constants, not a, b, c")]}

    def choose(graph: str) -> list[tuple[str, str]]:
        return second.get(graph, [])

    comparison, words, _ = judged(needed | {"w16+only-3": 0.5}, choose, wide)
    assert (comparison.reason, words) == ("w16+only-3", "2 of 5 constants, not a, b, c")
    comparison, words, _ = judged(needed | {"w16+only-3": 0.5}, choose, wide | {"w16+only-3": note})
    assert (comparison.reason, words) == ("w16", "as written")


def test_a_second_choice_of_constants_is_tried_where_the_first_one_does_not_fit() -> None:
    choices = [
        ("w16+folded+only-7", "3 of 5 constants, not b, c"),
        ("w16+folded+only-3", "2 of 5 constants, not a, b, c"),
    ]
    needed = ALL | {"w16+folded+only-7": 1.5, "w16+folded+only-3": 0.4}
    comparison, words, _ = judged(needed, lambda graph: choices)
    assert (comparison.reason, words) == ("w16+folded+only-3", f"BatchNormalization folded, {choices[1][1]}")


def test_a_comparison_that_proves_nothing_ends_the_search() -> None:
    nothing = unverified(Unverified.ILL_CONDITIONED, "noise")
    comparison, words = fitting(roundings("w16", ["LSTM"]), lambda graph: nothing, lambda graph: ())
    assert comparison is nothing and words == "as written"


ONE, TWO = np.array([[1.0], [1.0]]), np.array([[2.0], [2.0]])


@pytest.mark.parametrize(
    ("rounded", "actual", "ratio"),
    [
        ([TWO], [TWO], 1.0),
        ([TWO], [TWO * 2], 3.0),
        ([TWO], [ONE], 0.0),
        ([ONE], [ONE], 0.0),
        ([ONE], [TWO], math.inf),  # the rounding changes nothing
        ([TWO, TWO], [ONE, TWO * 2], 3.0),
        ([TWO, TWO], [TWO], math.inf),
        ([TWO], [TWO[:1]], math.inf),
        ([TWO], [TWO * np.nan], math.inf),
    ],
)
def test_how_far_a_run_is_from_the_unrounded_file(
    rounded: list[np.ndarray[Any, Any]], actual: list[np.ndarray[Any, Any]], ratio: float
) -> None:
    plain = {str(index): ONE for index in range(len(rounded))}
    runs = {f"out{index}": values for index, values in enumerate(actual)} | {"alt:out0": TWO}
    assert from_unrounded(plain, dict(zip("ab", rounded, strict=False)), runs) == pytest.approx(ratio)
