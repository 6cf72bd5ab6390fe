"""The rules of quantised results at their edges: figures of the row, messages, several outputs, what is not finite."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.measures import scale_of
from bench_plugin.compare.quantised import (
    accumulated,
    compare_by_approximation,
    compare_layers,
    compare_stable,
    killed_in_layer,
    killed_in_steps,
    same_bits,
    sqnr,
    steps,
)
from bench_plugin.compare.table import DEFAULTS, with_overrides
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED, Comparison
from bench_plugin.domain.outcome import Unverified

Array = np.ndarray[Any, Any]
INTEGERS = np.arange(200).reshape(2, 100).astype(np.uint8)
REAL = np.array([[2.0, -2.0], [-2.0, 2.0]])  # norm 4, root mean square 2


def test_an_element_exactly_at_the_limit_of_a_step_counts() -> None:
    found = steps(np.array([1.001, 1.0011, np.nan]), np.zeros(3))
    assert found.within == pytest.approx(1 / 3) and np.isnan(found.largest) and found.elements == 3
    assert steps(np.array([0.5]), np.array([0.0]), near=0.5).within == 1.0
    assert steps(np.float16([1e-3]), np.float16([0]), 1e-3).largest == pytest.approx(1.0, rel=1e-3)
    whole = steps(np.uint8([3]), np.uint8([5]))
    assert (whole.within, whole.largest) == (0.0, 2.0)


def test_the_row_of_every_layer() -> None:
    layers = {"q": INTEGERS + 0.25, "t": INTEGERS + 0.5, "f": REAL, "i": REAL * np.inf, "e": np.zeros((2, 0))}
    actual = {"q": INTEGERS, "t": INTEGERS, "f": REAL, "i": REAL, "e": np.zeros((2, 0))}
    found = compare_layers(layers, actual, {"t": "double rounding"})
    assert (found.status, found.reason) == (AGREE, "")
    assert found.numbers == {
        "layers": 4, "layer_inputs": len(INTEGERS), "layers_wrong": 0, "worst_steps": 0.5,
        "per_layer": [
            {"name": "q", "within": 1.0, "largest_steps": 0.25},
            {"name": "t", "within": 1.0, "largest_steps": 0.5, "exception": "double rounding"},
            {"name": "f", "E": 0.0}, {"name": "i", "E": None},
        ],
    }  # fmt: skip


def test_the_reasons_of_wrong_layers() -> None:
    layers = dict.fromkeys("abcd", INTEGERS + 0.7)
    found = compare_layers(layers, dict.fromkeys("abcd", INTEGERS))
    one = "100.0% of 200 more than 0.51 step from the unrounded result, up to 0.7"
    assert found.reason == f"layer a: {one}; layer b: {one}; layer c: {one}"
    assert (found.status, found.numbers["layers_wrong"], found.numbers["layers"]) == (MISMATCH, 4, 4)
    assert found.numbers["worst_steps"] == pytest.approx(0.7)
    gone = compare_layers({"a": REAL}, {})
    assert (gone.status, gone.reason, gone.numbers) == (MISMATCH, "layer a: nothing instead of [2, 2]", {})
    named = compare_layers({"a": INTEGERS + 0.6}, {"a": INTEGERS}, {"a": "double rounding"})
    assert named.reason.startswith("layer a: 100.0% of 200 more than 0.51 step")
    real = compare_layers({"f": REAL}, {"f": REAL + 1e-3})
    assert real.reason == "layer f: E 5.00e-04 > 1.0e-04 in float"
    assert compare_layers({"f": REAL}, {"f": REAL + 1e-3}, dynamic=["f"]).reason == (
        "layer f: E 5.00e-04 > 2.0e-04 in float"
    )


def test_a_layer_without_elements_hides_no_other() -> None:
    layers = {"e": np.zeros((2, 0)), "a": INTEGERS + 0.7}
    found = compare_layers(layers, {"e": np.zeros((2, 0), np.uint8), "a": INTEGERS})
    assert (found.status, found.numbers["layers"], found.numbers["layers_wrong"]) == (MISMATCH, 1, 1)


def test_elements_without_a_defined_result_are_left_out_and_counted() -> None:
    undefined = INTEGERS + 0.1
    undefined[0, 0] = np.nan
    found = compare_layers({"a": undefined}, {"a": INTEGERS})
    assert found.status == AGREE and found.numbers["per_layer"][0]["undefined"] == 1
    undefined[0, 1] += 0.7
    assert compare_layers({"a": undefined}, {"a": INTEGERS}).status == MISMATCH, "the others are compared"
    nothing = compare_layers({"a": INTEGERS * np.nan}, {"a": INTEGERS})
    assert (nothing.status, nothing.kind) == (UNVERIFIED, Unverified.NO_REFERENCE)


def test_a_mutant_of_a_layer_with_undefined_elements_is_judged_by_the_others() -> None:
    undefined = INTEGERS + 0.1
    undefined[0, 0] = np.nan
    same = killed_in_layer(undefined, undefined, True)
    assert not same["killed"] and not same["noticeable"] and same["ratio"] == pytest.approx(0.1 / 0.75)
    assert killed_in_layer(undefined, undefined + 3, True)["killed"]
    assert killed_in_layer(INTEGERS * np.nan, INTEGERS * np.nan, True)["ratio"] == 0


def test_a_float32_layer_may_be_as_far_off_as_eight_roundings_to_float32() -> None:
    masked = np.array([[-1e4 + 0.123456, 0.5], [-1e4 + 0.234567, 0.25]])
    rounded = masked.astype(np.float32)
    single = float(np.linalg.norm(rounded - masked) / scale_of(masked).norm)
    assert single > 1e-3, "far more than the limit"
    assert compare_layers({"q": INTEGERS, "f": masked}, {"q": INTEGERS, "f": rounded}).status == AGREE
    for times, status in ((7.9, AGREE), (8.1, MISMATCH)):
        found = {"q": INTEGERS, "f": masked + times * (rounded - masked)}
        assert compare_layers({"q": INTEGERS, "f": masked}, found).status == status, times


def test_what_counts_as_integers() -> None:
    for kind in (np.int8, np.uint8, np.int32, np.bool_):
        values = np.array([[0, 1], [1, 0]])
        found = compare_layers({"a": values + 0.4}, {"a": values.astype(kind)})
        assert found.numbers["worst_steps"] == pytest.approx(0.4), kind
    assert compare_layers({"a": REAL}, {"a": REAL}).numbers["worst_steps"] is None


def test_without_a_quantised_layer_nothing_is_proven_but_by_dynamic_ones() -> None:
    found = compare_layers({"f": REAL}, {"f": REAL})
    assert (found.status, found.reason) == (UNVERIFIED, "no quantised layer to compare")
    assert found.kind == Unverified.NO_REFERENCE and found.numbers["layers"] == 1
    assert compare_layers({"f": REAL}, {"f": REAL}, dynamic={"f"}).status == AGREE


def test_the_unit_of_a_layer_in_floating_point() -> None:
    constant = np.array([[3.0, 4.0], [3.0, 4.0]])  # nothing changes over the inputs: the norm itself, 50 ** 0.5
    assert compare_layers({"f": constant}, {"f": constant + 0.5e-4}).numbers["per_layer"][0]["E"] == pytest.approx(
        1e-4 / 50**0.5
    )
    zeros = np.zeros((2, 2))
    assert compare_layers({"f": zeros}, {"f": zeros + 5e-5}).numbers["per_layer"][0]["E"] == pytest.approx(1e-4)
    exact = compare_layers({"q": INTEGERS, "f": REAL * 1e4}, {"q": INTEGERS, "f": REAL * 1e4 + [[4, 0], [0, 0]]})
    assert exact.numbers["per_layer"][1]["E"] == 1e-4 and exact.status == AGREE, "at the limit"
    half = compare_layers({"f": REAL.astype(np.float16)}, {"f": np.float16(REAL * 2)})
    assert half.numbers["per_layer"][0]["E"] == pytest.approx(1.0)


def test_a_layer_exactly_at_its_limits_is_right() -> None:
    wide = replace(DEFAULTS, quantised_near=0.5, quantised_far=0.75, quantised_layer_share=0.75)
    values = np.array([[0, 0], [0, 0]])
    assert compare_layers({"a": np.array([[0.5, 0], [0, 0.75]])}, {"a": values}, table=wide).status == AGREE
    assert compare_layers({"a": np.array([[0.5, 0.51], [0, 0.75]])}, {"a": values}, table=wide).status == MISMATCH


def test_an_output_without_a_step_has_its_difference_in_the_reason() -> None:
    truth = np.array([[1.0, -1.0], [3.0, 1.0]])
    found = compare_stable({"a": truth}, [], {"out0": truth + np.array([[0.5, 0.0], [0.0, 0.0]])}, [None])
    assert (found.status, found.reason) == (MISMATCH, "a: 25.0% off by more than 0.001, up to 0.5")


def test_a_step_of_float16_is_at_least_the_distance_of_two_numbers() -> None:
    truth = np.array([[3.0, -1.0], [2.5, 1.0]])
    off = truth + 2.0**-9
    assert compare_stable({"a": truth}, [], {"out0": off.astype(np.float16)}, [1e-4]).status == AGREE
    assert compare_stable({"a": truth}, [], {"out0": off}, [1e-4]).status == MISMATCH
    assert compare_stable({"a": truth}, [], {"out0": (truth + 0.01).astype(np.float16)}, [1e-4]).status == MISMATCH


def test_a_step_of_float32_is_at_least_four_times_the_distance_of_two_numbers() -> None:
    """What hardly changes over the inputs, such as probabilities, had a step below what float32 can tell apart."""
    truth = np.array([[0.75, 0.25], [0.7500001, 0.2499999]])
    ulp = 2.0**-24
    right, wrong = np.float32(truth + 3 * ulp), np.float32(truth + 16 * ulp)
    assert compare_stable({"a": truth}, [], {"out0": right}, [None]).status == AGREE
    found = compare_stable({"a": truth}, [], {"out0": wrong}, [None])
    assert found.reason == "a: 100.0% off by more than 2.4e-07, up to 9.7e-07"
    assert compare_stable({"a": truth}, [], {"out0": right.astype(np.float64)}, [None]).status == MISMATCH


def test_end_to_end_the_row_and_the_reasons() -> None:
    truth = {"a": np.zeros((2, 4)), "e": np.zeros((2, 0)), "i": np.full((2, 4), np.nan), "b": np.zeros((2, 4))}
    run = {"out0": np.zeros((2, 4)), "out1": np.zeros((2, 0)), "out2": np.zeros((2, 4)), "out3": np.zeros((2, 4))}
    run["out3"][0] = [0.5, 1.0, 2.0, 0.0]
    found = compare_stable(truth, [], run, [0.25, 0.25, 0.25, 0.5])
    assert found.status == MISMATCH and found.reason == "b: 25.0% off by more than a step, up to 4.0"
    assert found.numbers == {
        "stable_inputs": 2,
        "end_to_end": [
            {"name": "a", "within_one_step": 1.0, "largest_steps": 0.0, "step": 0.25},
            {"name": "b", "within_one_step": 0.75, "largest_steps": 4.0, "step": 0.5},
        ],
    }
    both = compare_stable(truth, [], {**run, "out0": np.ones((2, 4))}, [0.25, 0.25, 0.25, 0.5])
    assert both.reason == ("a: 100.0% off by more than a step, up to 4.0; b: 25.0% off by more than a step, up to 4.0")
    few = compare_stable({"a": REAL, "b": REAL}, [], {"out0": REAL}, [1.0, 1.0])
    assert (few.status, few.reason, few.numbers) == (MISMATCH, "1 outputs where 2 are needed", {})
    shape = compare_stable({"a": REAL}, [], {"out0": REAL[:1]}, [1.0])
    assert (shape.status, shape.reason, shape.numbers) == (MISMATCH, "a: shape [1, 2], expected [2, 2]", {})


def test_end_to_end_a_run_that_is_right_may_have_more_outputs() -> None:
    found = compare_stable({"a": REAL}, [], {"out0": REAL, "out1": REAL + 9}, [0.5])
    assert (found.status, found.reason) == (AGREE, "")


def test_end_to_end_outputs_without_a_finite_reference_prove_nothing() -> None:
    found = compare_stable({"a": REAL * np.nan}, [], {"out0": REAL}, [0.5])
    assert (found.status, found.numbers) == (UNVERIFIED, {"stable_inputs": 0, "end_to_end": []})


def test_end_to_end_an_element_exactly_at_the_limits_is_right() -> None:
    truth = np.zeros((1, 100))
    three = truth.copy()
    three[0, 0] = 3.0
    assert compare_stable({"a": truth}, [], {"out0": three}, [1.0]).status == AGREE, "99 % within one, none beyond 3"
    assert compare_stable({"a": truth}, [], {"out0": three}, [0.999]).status == MISMATCH
    three[0, 1] = np.nan
    assert compare_stable({"a": truth[:, :2]}, [], {"out0": three[:, :2]}, [1.0]).status == MISMATCH
    loose = replace(DEFAULTS, quantised_share=0.0)
    assert compare_stable({"a": truth}, [], {"out0": three}, [1.0], loose).status == MISMATCH, "not a number"


def test_the_same_bits_are_those_of_the_reference_in_the_type_of_the_run() -> None:
    truth = {"a": np.array([[1 / 3, 2.0]])}
    run = truth["a"].astype(np.float32)
    assert same_bits(truth, {"out0": run}) and same_bits(truth, {"out0": run, "out1": run})
    assert not same_bits(truth, {"out0": np.nextafter(run, np.float32(9))})
    assert not same_bits(truth, {"out0": run[0]}) and not same_bits(truth, {})


ZERO, FIVE, TEN = np.zeros((1, 2)), np.array([[3.0, 4.0]]), np.array([[6.0, 8.0]])  # their norms are 0, 5 and 10
COUNTS = np.array([[1, 2]])
NARROW = np.array([[6e4]], np.float16)


@pytest.mark.parametrize(
    ("plain", "truth", "actual", "ratio"),
    [
        ([FIVE], [ZERO], [TEN], 2.0),
        ([TEN], [ZERO], [FIVE], 0.5),
        ([FIVE], [FIVE], [FIVE], 0.0),
        ([FIVE], [FIVE], [TEN], np.inf),  # only the run differs
        ([TEN], [FIVE], [FIVE], 0.0),
        ([FIVE, TEN], [ZERO, ZERO], [TEN, FIVE], 2.0),  # the output where the ratio is largest counts
        ([TEN, FIVE], [ZERO, ZERO], [FIVE, TEN], 2.0),
        ([FIVE], [ZERO], [TEN, FIVE], 2.0),  # a run may have more outputs than the graph
        ([FIVE, FIVE], [ZERO, ZERO], [TEN], np.inf),
        ([FIVE], [ZERO, ZERO], [TEN, TEN], np.inf),
        ([FIVE], [ZERO], [TEN[0]], np.inf),
        ([FIVE[0]], [ZERO], [TEN], np.inf),
        ([FIVE], [ZERO], [TEN * np.nan], np.inf),
        ([FIVE], [ZERO], [TEN * np.inf], np.inf),
        ([COUNTS, FIVE], [COUNTS, ZERO], [COUNTS, TEN], 2.0),
        ([COUNTS, FIVE], [COUNTS, ZERO], [COUNTS[:, :1], TEN], np.inf),  # an integer output has a shape, too
        ([FIVE, FIVE], [ZERO * np.nan, ZERO], [FIVE, TEN], 2.0),  # nor does a reference that is not finite
        ([NARROW], [-NARROW], [NARROW], 1.0),  # their distance is Inf in float16
    ],
)
def test_how_far_a_run_is_from_its_graph_over_what_the_quantisation_changes(
    plain: list[Array], truth: list[Array], actual: list[Array], ratio: float
) -> None:
    named = ({f"out{place}": one for place, one in enumerate(values)} for values in (plain, truth, actual))
    assert accumulated(*named) == pytest.approx(ratio)


def test_an_output_that_is_not_dequantised_has_the_cap_for_a_step() -> None:
    moved = REAL.copy()
    moved[0, 0] += 4e-3  # the cap of 1e-3 times the root mean square of 2 is a step: 2 steps
    found = compare_stable({"a": REAL}, [], {"out0": moved}, [None])
    assert found.numbers["end_to_end"][0]["step"] == pytest.approx(2e-3)
    assert found.numbers["end_to_end"][0]["largest_steps"] == pytest.approx(2.0)
    assert compare_stable({"a": REAL}, [], {"out0": moved}, [None], with_overrides(cap=4e-3)).status == AGREE
    constant = compare_stable({"a": np.ones((2, 2))}, [], {"out0": np.ones((2, 2)) + 7}, [None])
    assert constant.status == MISMATCH and constant.numbers["end_to_end"][0]["step"] == pytest.approx(1e-3)
    whole = compare_stable({"a": np.full((2, 2), 5)}, [], {"out0": np.full((2, 2), 5)}, [None])
    assert whole.status == AGREE and whole.numbers["end_to_end"][0]["step"] == 1e-3, "whatever its size is"
    nothing = compare_stable({"a": REAL * np.inf}, [], {"out0": REAL}, [None])
    assert (nothing.status, nothing.kind) == (UNVERIFIED, Unverified.ILL_CONDITIONED)
    assert nothing.reason == "no input whose rounding is stable" and nothing.numbers["end_to_end"] == []


def test_an_input_is_stable_below_half_a_step_in_every_element_of_every_run() -> None:
    truth = np.zeros((4, 2, 2))
    half, below, negative = truth.copy(), truth.copy(), truth.copy()
    half[0, 1, 1], below[1, 0, 0], negative[2, 0, 1] = 0.5, 0.49, -0.5
    for runs, stable in (([half], 3), ([below], 4), ([negative], 3), ([half, negative], 2)):
        found = compare_stable({"y": truth}, [{"y": run} for run in runs], {"out0": truth}, [1.0])
        assert found.numbers["stable_inputs"] == stable
    other = compare_stable({"y": truth}, [{"z": half}, {"y": negative}], {"out0": truth}, [1.0])
    assert other.numbers["stable_inputs"] == 3
    two = {"y": truth, "z": truth}
    fewest = compare_stable(two, [{"y": half, "z": half + negative}], {"a": truth, "b": truth}, [1.0, 1.0])
    assert fewest.numbers["stable_inputs"] == 2
    wrong = truth.copy()
    wrong[0] = 9.0
    assert compare_stable({"y": truth}, [{"y": half}], {"out0": wrong}, [1.0]).status == AGREE
    assert compare_stable(two, [{"y": truth + 1, "z": truth}], {"a": truth, "b": truth + 9}, [1.0, 1.0]).reason == (
        "z: 100.0% off by more than a step, up to 9.0"
    )


CONSTANT = np.ones((4, 3), dtype=bool)
REAL_OF_FOUR = np.random.default_rng(5).standard_normal((4, 3))


@pytest.mark.parametrize(
    ("expected", "wrong"),
    [
        (CONSTANT, ~CONSTANT), (np.full((4, 3), 3), np.full((4, 3), 4)), (np.full((4, 3), 2.0), np.full((4, 3), 2.1)),
        (np.zeros((4, 3)), np.full((4, 3), 0.1)), (np.eye(4, 3, dtype=bool), np.zeros((4, 3), dtype=bool)),
    ],
)  # fmt: skip
def test_an_output_that_no_input_changes_is_compared_beside_others(expected: Array, wrong: Array) -> None:
    truth = {"y": REAL_OF_FOUR, "s": expected}
    right = compare_stable(truth, [truth], {"y": REAL_OF_FOUR, "s": expected}, [None, None])
    assert right.status == AGREE and [row["name"] for row in right.numbers["end_to_end"]] == ["y", "s"]
    assert compare_stable(truth, [truth], {"y": REAL_OF_FOUR, "s": wrong}, [None, None]).status == MISMATCH
    found = killed_in_steps(truth, {"y": REAL_OF_FOUR, "s": wrong}, [None, None])
    assert found is not None and found["killed"]


def test_a_boolean_that_rounding_decides_is_not_compared() -> None:
    truth, other = CONSTANT.copy(), CONSTANT.copy()
    other[0, 1] = False
    wrong = other.copy()
    assert compare_stable({"s": truth}, [{"s": other}], {"s": wrong}, [None]).status == AGREE
    wrong[1, 0] = False
    assert compare_stable({"s": truth}, [{"s": other}], {"s": wrong}, [None]).status == MISMATCH


def test_mutants_of_a_layer_have_the_ratio_of_their_largest_distance() -> None:
    integers = INTEGERS.astype(float)
    assert killed_in_layer(integers, integers + 1.2, True) == {
        "killed": True, "ratio": pytest.approx(1 / 0.75), "noticeable": True,
    }  # fmt: skip
    assert killed_in_layer(integers, integers[:1], True) == {"killed": True, "ratio": 1e9, "noticeable": True}
    coarse = replace(DEFAULTS, quantised_near=0.61)
    assert killed_in_layer(integers + 0.6, integers + 0.3, True, table=coarse) == {
        "killed": False, "ratio": pytest.approx(0.6 / 0.75), "noticeable": True,
    }  # fmt: skip
    assert killed_in_layer(integers + 0.6, integers + 0.3, True)["killed"]
    assert not killed_in_layer(REAL, REAL + 0.7e-3, False, table=replace(DEFAULTS, quantised_float=1e-3))["killed"]
    real = killed_in_layer(REAL, REAL + 1e-3, False)
    assert real == {"killed": True, "ratio": pytest.approx(5.0), "noticeable": True}
    assert killed_in_layer(REAL, REAL + 1e-3, False, dynamic=True)["ratio"] == pytest.approx(2.5)
    assert killed_in_layer(REAL * np.inf, REAL, False) == {"killed": False, "ratio": 0.0, "noticeable": True}
    far = replace(DEFAULTS, quantised_far=2.0, quantised_near=1.5)
    assert killed_in_layer(integers, integers + 1.0, True, table=far) == {
        "killed": False,
        "ratio": 0.5,
        "noticeable": True,
    }


def test_a_mutant_of_a_layer_that_changes_no_rounded_result_is_not_noticeable() -> None:
    integers = INTEGERS.astype(float)
    assert not killed_in_layer(integers, integers + 0.4, True)["noticeable"]
    one = integers.copy()
    one[0, 0] += 0.6
    assert killed_in_layer(integers, one, True)["noticeable"]
    assert not killed_in_layer(REAL, REAL * (1 + 1e-12), False)["noticeable"]
    assert killed_in_layer(REAL, REAL * (1 + 1e-6), False)["noticeable"]


def test_mutants_end_to_end_are_judged_in_steps() -> None:
    truth = {"e": np.zeros((2, 0)), "n": np.full((2, 2), np.nan), "c": np.ones((2, 2)), "a": REAL, "b": REAL}
    scales = [1.0, 1.0, None, 0.5, None]
    assert killed_in_steps(truth, truth, scales) == {"killed": False, "ratio": 0.0}
    assert killed_in_steps(truth, truth | {"more": REAL}, scales) == {"killed": False, "ratio": 0.0}
    one = killed_in_steps(truth, truth | {"a": REAL + 0.5}, scales)
    assert one == {"killed": False, "ratio": pytest.approx(1 / 3)}
    two = killed_in_steps(truth, truth | {"a": REAL + 1.0, "b": REAL + 1e-3}, scales)
    assert two == {"killed": True, "ratio": pytest.approx(2 / 3)}
    last = killed_in_steps(truth, truth | {"b": REAL + 7e-3}, scales)  # a step of 2e-3
    assert last == {"killed": True, "ratio": pytest.approx(3.5 / 3)}
    broken = {"killed": True, "ratio": 1e9}
    assert killed_in_steps(truth, truth | {"a": REAL[:1]}, scales) == broken
    assert killed_in_steps(truth, truth | {"a": REAL * np.nan}, scales) == broken
    assert killed_in_steps({"c": np.ones((2, 2))}, {"c": np.ones((2, 2)) + 0.1}, [None]) == {
        "killed": True, "ratio": pytest.approx(100 / 3),
    }  # fmt: skip
    assert killed_in_steps({"e": np.zeros((2, 0))}, {"e": np.zeros((2, 0))}, [1.0]) is None
    wide = with_overrides(cap=1.0)
    assert killed_in_steps({"b": REAL}, {"b": REAL + 7e-3}, [None], wide) == {
        "killed": False, "ratio": pytest.approx(7e-3 / 2 / 3),
    }  # fmt: skip


def test_a_mutant_exactly_at_the_limits_is_not_noticed() -> None:
    truth, mutant = np.zeros((1, 100)), np.zeros((1, 100))
    mutant[0, 0] = 3.0
    assert killed_in_steps({"a": truth}, {"a": mutant}, [1.0]) == {"killed": False, "ratio": 1.0}
    mutant[0, 0] = 3.01
    assert killed_in_steps({"a": truth}, {"a": mutant}, [1.0]) == {"killed": True, "ratio": pytest.approx(3.01 / 3)}


def test_by_approximation_what_is_said() -> None:
    def nothing(reason: str) -> Comparison:
        return Comparison(UNVERIFIED, reason, {}, (), Unverified.NO_REFERENCE)

    assert compare_by_approximation({}, {}) == nothing("0 outputs to compare with the 0 of our own quantisation")
    assert compare_by_approximation({"a": 1.0, "b": 1.0}, {"x": 1.0}) == nothing(
        "1 outputs to compare with the 2 of our own quantisation"
    )
    assert compare_by_approximation({"a": None}, {"x": 6.0}) == nothing(
        "our own quantisation changes no output, as of a file that is quantised already, and is no measure"
    )
    assert compare_by_approximation({"a": 1.0}, {"x": None}) == nothing(
        "no output of the run has any noise to compare with that of our own quantisation"
    )
    numbers = {"own_sqnr_db": 40.0, "short_of_own_db": 6.0}
    assert compare_by_approximation({"a": 40.0}, {"x": 34.0}) == Comparison(AGREE, "", numbers), "at the limit"
    found = compare_by_approximation({"a": 40.0, "b": None}, {"x": 33.5, "y": 6.0, "z": 9.0})
    assert found.reason == "a: 33.5 dB, 6.5 dB under our own quantisation of the same model (40.0 dB)"
    assert found.status == MISMATCH and found.numbers == {"own_sqnr_db": 40.0, "short_of_own_db": 6.5}
    assert compare_by_approximation({"a": 40.0}, {"x": 33.5}, replace(DEFAULTS, approximation_db=7.0)).status == AGREE


@pytest.mark.parametrize(
    ("theirs", "status"), [(34.0, AGREE), (33.9, UNVERIFIED), (28.0, UNVERIFIED), (27.9, MISMATCH), (-np.inf, MISMATCH)]
)
def test_by_approximation_what_may_be_chance_has_no_reference(theirs: float, status: str) -> None:
    found = compare_by_approximation({"a": 40.0}, {"x": theirs}, far=12.0)
    assert found.status == status
    if status == UNVERIFIED:
        assert found.kind == Unverified.NO_REFERENCE
        assert found.reason.endswith("(40.0 dB): more than 6 dB, and too little to prove a mistake (12 dB)")


@pytest.mark.parametrize(("theirs", "status"), [(6.1, UNVERIFIED), (6.0, MISMATCH)])
def test_by_approximation_what_is_hardly_better_than_zeros_is_a_mistake(theirs: float, status: str) -> None:
    assert compare_by_approximation({"a": 16.5}, {"x": theirs}, far=12.0).status == status


def test_by_approximation_our_own_quantisation_is_no_limit_where_it_rounds_less() -> None:
    assert compare_by_approximation({"y": 40.0}, {"y": 35.0}, unrounded={"LSTM"}).status == AGREE
    short = compare_by_approximation({"y": 40.0}, {"y": 30.0}, unrounded={"LSTM", "GRU"})
    assert (short.status, short.kind) == (UNVERIFIED, Unverified.NO_REFERENCE)
    assert short.reason.endswith(
        "own quantisation of the same model (40.0 dB), which leaves GRU, LSTM in floating point"
    )
    assert compare_by_approximation({"y": 40.0}, {"y": 30.0}).status == MISMATCH
    for broken in (5.0, float("-inf")):
        assert compare_by_approximation({"y": 40.0}, {"y": broken}, unrounded={"LSTM"}).status == MISMATCH


def test_by_approximation_an_output_that_our_own_quantisation_does_not_change_has_a_limit() -> None:
    """A file that is quantised already is its own quantisation: a result beside which zeros are as near is wrong."""
    found = compare_by_approximation({"a": None, "b": None}, {"x": 5.9, "y": -7.0})
    assert found == Comparison(MISMATCH, "b: -7.0 dB, where our own quantisation changes nothing")
    assert (
        compare_by_approximation({"a": None}, {"x": 5.9}, replace(DEFAULTS, approximation_db=5.0)).status == UNVERIFIED
    )
    broken = compare_by_approximation({"a": None, "b": 40.0}, {"x": -np.inf, "y": 40.0})
    assert broken == Comparison(MISMATCH, "a: another shape than the model's, NaN or Inf")


def test_the_ratio_of_signal_to_noise_in_narrow_types() -> None:
    assert sqnr(np.float16([300.0]), np.float16([200.0])) == pytest.approx(20 * np.log10(2))
    beyond = np.array([300.0], np.float16)  # its square is Inf in float16
    assert sqnr(np.array([200.0], np.float16), beyond) == pytest.approx(20 * np.log10(3))
    assert sqnr(np.array([18], np.uint8), np.array([20], np.uint8)) == pytest.approx(20)
    assert sqnr(np.uint8([3]), np.uint8([4])) == pytest.approx(20 * np.log10(4))
    assert sqnr(np.array([1.0]), np.array([0.0])) is None
    assert sqnr(np.array([0.5]), np.array([1.0])) == pytest.approx(6.0206, rel=1e-4)
