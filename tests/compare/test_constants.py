"""Which constants a tool rounded, from hand-made outputs: any choice is found, and too little proves none."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.constants import chosen, named, without_cross_terms

COUNT, VALUES = 6, 40


def outputs() -> tuple[dict[str, Any], dict[int, dict[str, Any]]]:
    """Two outputs without any rounding, and with one of the constants rounded each; their units are far apart."""
    rng = np.random.default_rng(5)
    exact = {"out0": rng.standard_normal(VALUES), "out1": 1e6 * rng.standard_normal(VALUES)}
    sizes = {"out0": 1e-4, "out1": 1e2}
    effects = {
        number: {name: values + sizes[name] * rng.standard_normal(VALUES) for name, values in exact.items()}
        for number in range(COUNT)
    }
    return exact, effects


def with_roundings(exact: dict[str, Any], effects: dict[int, dict[str, Any]], numbers: Any) -> dict[str, Any]:
    return {name: values + sum(effects[n][name] - values for n in numbers) for name, values in exact.items()}


SCALES = {"out0": 1.0, "out1": 1e6}


@pytest.mark.parametrize("count", range(COUNT + 1))
def test_every_choice_is_found(count: int) -> None:
    exact, effects = outputs()
    for numbers in itertools.combinations(range(COUNT), count):
        found = with_roundings(exact, effects, numbers)
        found = {name: values.astype(np.float32) for name, values in found.items()}
        assert chosen(exact, effects, found, SCALES) == frozenset(numbers)


def test_of_two_ways_to_round_one_constant_that_change_the_same_the_one_that_fits_is_found() -> None:
    exact, effects = outputs()
    effects[COUNT] = {name: values + 1.6 * (effects[2][name] - values) for name, values in exact.items()}
    assert chosen(exact, effects, effects[COUNT], SCALES) == {COUNT}
    assert chosen(exact, effects, effects[2], SCALES) == {2}


def test_what_constants_change_together_is_taken_off_for_a_second_choice() -> None:
    exact, effects = outputs()
    small = {name: values + 0.02 * (effects[4][name] - values) for name, values in exact.items()}
    effects[4] = small  # less than what 0 and 1 change together
    cross = {name: small[name] - values for name, values in exact.items()}

    def together(numbers: frozenset[int]) -> dict[str, Any]:
        found = with_roundings(exact, effects, numbers)
        return {name: values + 0.9 * cross[name] * ({0, 1} <= numbers) for name, values in found.items()}

    found = together(frozenset({0, 1}))
    first = chosen(exact, effects, found, SCALES)
    assert first == {0, 1, 4}, "what 0 and 1 change together looks like 4"
    wanted = without_cross_terms(exact, effects, found, first, together(first))
    assert chosen(exact, effects, wanted, SCALES) == {0, 1}


@pytest.mark.parametrize("numbers", [[2], [2, COUNT], [0, 2, 3]])
def test_of_constants_that_change_the_same_so_many_are_taken_as_were_rounded(numbers: list[int]) -> None:
    exact, effects = outputs()
    alike = {2, COUNT, COUNT + 1}
    effects[COUNT] = effects[COUNT + 1] = effects[2]  # least squares give each of the three the same share
    found = chosen(exact, effects, with_roundings(exact, effects, numbers), SCALES)
    assert found is not None and found - alike == set(numbers) - alike
    assert len(found & alike) == len(alike.intersection(numbers))


def test_a_constant_without_an_effect_disturbs_nothing() -> None:
    exact, effects = outputs()
    effects[1] = dict(exact)
    found = chosen(exact, effects, with_roundings(exact, effects, [0, 3]), SCALES)
    assert found is not None and found - {1} == {0, 3}


def test_values_that_are_not_finite_do_not_count() -> None:
    exact, effects = outputs()
    found = with_roundings(exact, effects, [4])
    found["out0"][3], effects[2]["out1"][7] = np.nan, np.inf
    assert chosen(exact, effects, found, SCALES) == {4}


@pytest.mark.parametrize(("values", "known"), [(2 * COUNT, True), (2 * COUNT - 1, False), (0, False)])
def test_of_too_few_values_nothing_is_read(values: int, known: bool) -> None:
    exact, effects = ({"out0": 1e6 * np.arange(1.0, values + 1)}, {})
    rng = np.random.default_rng(0)
    for number in range(COUNT):
        effects[number] = {"out0": exact["out0"] + rng.standard_normal(values)}
    found = chosen(exact, effects, with_roundings(exact, effects, [1]), {"out0": 1e6})
    assert found == ({1} if known else None)


def test_a_file_without_constants_that_could_be_rounded_has_none_that_are() -> None:
    exact, _ = outputs()
    assert chosen(exact, {}, exact, SCALES) == frozenset()


def test_two_values_are_enough_for_one_constant() -> None:
    exact = {"out0": np.array([1.0, 2.0])}
    effects = {7: {"out0": np.array([1.1, 2.2])}}
    assert chosen(exact, effects, effects[7], {"out0": 0.0}) == {7}, "also where the outputs have no scale"
    assert chosen(exact, effects, exact, {"out0": 1.0}) == frozenset()


def test_the_opposite_of_a_rounding_is_none() -> None:
    exact, effects = outputs()
    opposite = {name: 2 * values - effects[2][name] for name, values in exact.items()}
    assert chosen(exact, effects, opposite, SCALES) == frozenset()


def test_outputs_count_in_their_own_units() -> None:
    exact, effects = outputs()
    found = with_roundings(exact, effects, [1, 3])
    found["out1"] = found["out1"] + 50.0 * np.random.default_rng(8).standard_normal(VALUES)  # as large as effects there
    assert chosen(exact, effects, found, {"out0": 1.0, "out1": 1e8}) == {1, 3}


def test_of_outputs_without_real_numbers_nothing_is_read() -> None:
    assert chosen({}, {}, {}, {}) is None


ROWS = [{"name": name, "of": ""} for name in "abcdefg"] + [{"name": "1/g", "of": "g"}]


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        (range(7), "7 of 7 constants"),
        ([*range(6), 7], "7 of 7 constants; as 1/g"),
        ([0, 1, 2, 3, 4, 5], "6 of 7 constants, not g"),
        ([0, 1, 2], "3 of 7 constants, not d, e, f, g"),
        ([0, 7], "2 of 7 constants, not b, c, d, e and 1 more; as 1/g"),
    ],
)
def test_a_row_says_which_constants_are_not_rounded(numbers: Any, words: str) -> None:
    assert named(ROWS, frozenset(numbers)) == words


@pytest.mark.parametrize("seed", range(20))
def test_constants_that_change_nearly_the_same_are_told_apart_from_the_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shared = 2 * rng.standard_normal(VALUES * 2)
    changes = [rng.standard_normal(VALUES * 2) + shared for _ in range(8)]  # as behind a normalisation
    changes += changes[:3]  # a weight, and one that is half of it
    exact = {"out0": 1e3 * rng.standard_normal(VALUES * 2)}
    effects = {number: {"out0": exact["out0"] + change} for number, change in enumerate(changes)}
    rounded = [0, 1, 2, 3, 5]
    found = with_roundings(exact, effects, rounded)
    numbers = chosen(exact, effects, found, {"out0": 1.0})
    assert numbers is not None and len(numbers) == len(rounded)
    assert np.allclose(sum(changes[n] for n in numbers), sum(changes[n] for n in rounded), atol=1e-9)
