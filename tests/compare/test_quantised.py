"""The rules of quantised results, on arrays made by hand: every limit from both sides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.converted import compare_constants, compare_ranges
from bench_plugin.compare.quantised import (
    accumulated,
    compare_by_approximation,
    compare_layers,
    compare_stable,
    killed_in_layer,
    sqnr,
    steps,
)
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED
from bench_plugin.domain.outcome import Unverified
from bench_plugin.pipeline.judging.judge import Judge, ReferenceOutputs
from bench_plugin.pipeline.judging.judge_noise import signal_to_noise
from bench_plugin.pipeline.judging.judge_quantised import LayerResults
from bench_plugin.pipeline.stages import Done

Array = np.ndarray[Any, Any]
COUNT = 1000
INTEGERS = np.random.default_rng(0).integers(-100, 100, (10, 100)).astype(np.int8)


def off_by(*distances: tuple[int, float]) -> Array:
    """Unrounded results so many of which are so many steps from INTEGERS; the others are exact."""
    unrounded = INTEGERS.astype(np.float64).reshape(-1)
    at = 0
    for count, distance in distances:
        unrounded[at : at + count] += distance
        at += count
    return unrounded.reshape(INTEGERS.shape)


def judged(unrounded: Array, actual: Array = INTEGERS) -> tuple[str, Any]:
    found = compare_layers({"conv": unrounded}, {"conv": actual})
    return found.status, found.numbers


def test_a_correct_rounding_agrees_and_a_tie_may_go_either_way() -> None:
    assert judged(off_by((COUNT // 2, 0.5), (COUNT // 2, -0.5)))[0] == AGREE


@pytest.mark.parametrize(
    ("count", "distance", "status"),
    [
        (COUNT, 0.509, AGREE), (COUNT, 0.511, MISMATCH),  # the share is all or nothing
        (1, 0.6, AGREE), (2, 0.6, MISMATCH),  # 99.9 % within 0.51 step
        (1, 0.75, AGREE), (1, 0.76, MISMATCH),  # none over 0.75
        (1, -0.75, AGREE), (1, -0.76, MISMATCH), (COUNT, 1.0, MISMATCH), (1, 1.0, MISMATCH),
    ],
)  # fmt: skip
def test_the_two_limits_of_a_layer(count: int, distance: float, status: str) -> None:
    found, numbers = judged(off_by((count, distance)))
    assert found == status
    assert numbers["worst_steps"] == pytest.approx(abs(distance)) and numbers["layers"] == 1
    assert numbers["layers_wrong"] == (status == MISMATCH)


@pytest.mark.parametrize(
    ("off", "permitted", "largest"),
    [(1.0, 0.6, 0.4), (-1.0, 0.6, 0.4), (0.3, 0.6, 0.0), (-0.3, 0.6, 0.0), (2.0, 0.6, 1.4), (1.0, 0.0, 1.0)],
)
def test_an_element_may_be_off_by_what_ties_inside_its_layer_change(
    off: float, permitted: float, largest: float
) -> None:
    unrounded, ties = off_by((1, off)), np.zeros(INTEGERS.shape)
    place = np.unravel_index(np.abs(unrounded - INTEGERS).argmax(), INTEGERS.shape)
    ties[place] = permitted
    found = compare_layers({"a": unrounded}, {"a": INTEGERS}, ties={"a": ties})
    assert found.numbers["worst_steps"] == pytest.approx(largest)
    assert found.status == (MISMATCH if largest > 0.75 else AGREE)
    elsewhere = compare_layers({"a": unrounded}, {"a": INTEGERS}, ties={"a": np.roll(ties, 1, axis=1), "b": ties})
    assert elsewhere.numbers["worst_steps"] == pytest.approx(abs(off)), "each element has its own"
    others = compare_layers({"a": unrounded}, {"a": INTEGERS}, ties={"b": ties})
    assert others.numbers["worst_steps"] == pytest.approx(abs(off)), "each layer has its own"


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_what_is_infinite_never_agrees(value: float) -> None:
    unrounded = off_by()
    unrounded[3, 3] = value
    assert judged(unrounded)[0] == MISMATCH


def test_every_layer_is_judged_and_the_worst_is_named() -> None:
    right, wrong = off_by(), off_by((20, 1.2))
    found = compare_layers({"a": right, "b": wrong, "c": right}, dict.fromkeys("abc", INTEGERS))
    assert found.status == MISMATCH and "layer b: 2.0% of 1000" in found.reason and "up to 1.2" in found.reason
    assert (found.numbers["layers"], found.numbers["layers_wrong"]) == (3, 1)
    assert found.numbers["worst_steps"] == pytest.approx(1.2)


def test_a_layer_that_is_missing_or_of_another_shape_is_a_mismatch() -> None:
    assert "nothing instead of" in compare_layers({"a": off_by()}, {}).reason
    found = compare_layers({"a": off_by()}, {"a": INTEGERS[:, :-1]})
    assert found.status == MISMATCH and "[10, 99] instead of [10, 100]" in found.reason
    assert compare_layers({}, {}).status == UNVERIFIED
    assert compare_layers({"a": np.zeros((0, 3))}, {"a": np.zeros((0, 3), np.int8)}).status == UNVERIFIED


def with_error(e: float) -> tuple[Array, Array]:
    """A result in floating point, and the same with exactly this E."""
    truth = np.random.default_rng(1).standard_normal((8, 50))
    error = np.random.default_rng(2).standard_normal(truth.shape)
    return truth, truth + error * (e * np.linalg.norm(truth - truth.mean(axis=0)) / np.linalg.norm(error))


@pytest.mark.parametrize(
    ("e", "dynamic", "status"),
    [(0.9e-4, False, AGREE), (1.1e-4, False, MISMATCH), (1.9e-4, True, AGREE), (2.1e-4, True, MISMATCH)],
)
def test_a_layer_in_floating_point_is_judged_by_its_error(e: float, dynamic: bool, status: str) -> None:
    truth, actual = with_error(e)
    found = compare_layers({"fc": truth}, {"fc": actual}, dynamic={"fc"} if dynamic else ())
    whole = compare_layers(
        {"q": off_by(), "fc": truth}, {"q": INTEGERS, "fc": actual}, dynamic={"fc"} if dynamic else ()
    )
    assert whole.status == status
    assert found.status == (status if dynamic or status == MISMATCH else UNVERIFIED)  # nothing quantised was judged


@pytest.mark.parametrize(
    ("e", "noise", "dynamic", "status"),
    [
        (5e-4, 1.8e-4, True, AGREE),  # within three times what ties change
        (5e-4, 1.6e-4, True, MISMATCH),
        (5e-4, 1.8e-4, False, MISMATCH),  # rounds no inputs
        (1.1e-3, 1e-2, True, MISMATCH),  # beyond what any float32 model may be off
        (0.9e-3, 1e-2, True, AGREE),
    ],
)
def test_a_layer_that_rounds_its_inputs_may_be_off_by_its_ties(
    e: float, noise: float, dynamic: bool, status: str
) -> None:
    truth, actual = with_error(e)
    layers = {"q": off_by(), "fc": truth}, {"q": INTEGERS, "fc": actual}
    found = compare_layers(*layers, dynamic={"fc"} if dynamic else (), noise={"fc": noise})
    assert found.status == status
    assert found.numbers["per_layer"][1]["noise_E"] == noise
    killed = killed_in_layer(truth, actual, integers=False, dynamic=dynamic, noise=noise)["killed"]
    assert killed is (status == MISMATCH)


def test_layers_without_steps_have_no_worst_step() -> None:
    truth, actual = with_error(1e-5)
    assert compare_layers({"fc": truth}, {"fc": actual}, dynamic={"fc"}).numbers["worst_steps"] is None


def test_layers_are_exact_only_where_every_integer_is_the_nearest() -> None:
    assert LayerResults({"a": off_by((5, 0.49))}, {"a": INTEGERS}).exact
    assert not LayerResults({"a": off_by((1, 0.51))}, {"a": INTEGERS}).exact
    assert not LayerResults({"a": off_by()}, {}).exact


@pytest.mark.parametrize(("distance", "killed"), [(0.3, False), (1.0, True)])
def test_a_mutant_is_judged_after_rounding_by_the_same_rule(distance: float, killed: bool) -> None:
    found = killed_in_layer(off_by(), off_by((50, distance)), True)
    assert found["killed"] is killed and found["ratio"] == pytest.approx((1.0 if killed else 0.0) / 0.75)
    assert killed_in_layer(off_by(), off_by()[:, 1:], True)["killed"]


def test_a_mutant_of_a_layer_in_floating_point_is_judged_by_its_error() -> None:
    truth, mutant = with_error(1.5e-4)
    assert killed_in_layer(truth, mutant, False)["killed"]
    assert not killed_in_layer(truth, mutant, False, dynamic=True)["killed"]


def test_distances_are_in_steps_of_the_scale() -> None:
    found = steps(np.array([[0.5], [1.0]]), np.array([[0.0], [0.0]]), scale=0.5)
    assert (found.within, found.largest, found.elements) == (0.5, 2.0, 2)


@pytest.mark.parametrize(
    ("count", "distance", "status"), [(1, 2.9, AGREE), (1, 3.1, MISMATCH), (10, 1.5, AGREE), (11, 1.5, MISMATCH)]
)
def test_end_to_end_single_steps_are_permitted_and_no_more_than_three(count: int, distance: float, status: str) -> None:
    truth = INTEGERS * 0.25
    found = compare_stable({"y": truth}, [], {"y": off_by((count, distance)) * 0.25}, [0.25])
    assert found.status == status and found.numbers["stable_inputs"] == 10


def test_inputs_whose_rounding_is_not_stable_do_not_count() -> None:
    truth = INTEGERS * 0.25
    moved = truth.copy()
    moved[0] += 0.2  # nearly a step
    found = compare_stable({"y": truth}, [{"y": moved}], {"y": truth + np.eye(10)[:, :1]}, [0.25])
    assert found.status == AGREE and found.numbers["stable_inputs"] == 9
    assert compare_stable({"y": truth}, [{"y": truth + 1}], {"y": truth}, [0.25]).status == UNVERIFIED


def test_an_output_without_a_stable_input_leaves_the_verdict_open_and_is_named() -> None:
    truth = {"x": np.zeros((4, 5)), "y": np.zeros((4, 5))}
    moved = [{"x": np.zeros((4, 5)), "y": np.ones((4, 5))}]
    found = compare_stable(truth, moved, truth, [0.25, 0.25])
    assert (found.status, found.reason) == (UNVERIFIED, "no input whose rounding is stable in y")
    assert found.numbers["not_stable"] == ["y"] and [row["name"] for row in found.numbers["end_to_end"]] == ["x"]
    wrong = compare_stable(truth, moved, {"x": np.ones((4, 5)), "y": truth["y"]}, [0.25, 0.25])
    assert wrong.status == MISMATCH and wrong.numbers["not_stable"] == ["y"]
    neither = compare_stable(truth, [{name: np.ones((4, 5)) for name in truth}], truth, [0.25, 0.25])
    assert neither.reason == "no input whose rounding is stable" and neither.numbers["not_stable"] == ["x", "y"]


def test_a_run_needs_all_outputs_of_the_graph() -> None:
    assert compare_stable({"y": np.zeros((10, 100))}, [], {}, [0.25]).status == MISMATCH


CONSTANTS = [
    {"name": "w", "kind": "weight", "layer": "CONV_2D"}, {"name": "b", "kind": "bias", "layer": "CONV_2D"},
]  # fmt: skip


@pytest.mark.parametrize(("weight", "bias", "status"), [
    (0.5, 0.5, AGREE), (0.501, 0.501, AGREE), (0.502, 0.0, MISMATCH), (0.0, 0.502, MISMATCH),
    (float("nan"), 0, MISMATCH),
])  # fmt: skip
def test_what_a_converter_wrote_is_within_half_a_step(weight: float, bias: float, status: str) -> None:
    matches = [{"name": "w", "tensor": "conv.w", "steps": weight}, {"name": "b", "tensor": "conv.b", "steps": bias}]
    found = compare_constants(CONSTANTS, matches)
    assert found.status == status and found.numbers["converter"]["compared"] == 2
    if weight == weight:
        assert found.numbers["converter"]["worst_steps"] == max(weight, bias)
    if status == MISMATCH:
        assert "CONV_2D" in found.reason and "conv." in found.reason and found.reason.startswith("converter: ")


def test_constants_without_a_counterpart_are_not_judged() -> None:
    found = compare_constants(CONSTANTS, [{"name": name, "tensor": "", "steps": 7.0} for name in "wb"])
    assert found.status == AGREE and found.numbers["converter"]["compared"] == 0


@pytest.mark.parametrize(("low", "high", "status"), [
    (-1.0, 3.0, AGREE), (-1.01, 3.0, AGREE), (-1.021, 3.0, MISMATCH), (-0.979, 3.0, MISMATCH), (-1.0, 2.979, MISMATCH),
    (-1.0, 6.0, MISMATCH),
])  # fmt: skip
def test_a_range_is_that_of_the_calibration_to_a_step(low: float, high: float, status: str) -> None:
    row = {"real": "r", "layer": "ADD", "scale": 0.02, "low": low, "high": high}
    found = compare_ranges([row, {"real": "float", "layer": "SOFTMAX"}], {"r": (-1.0, 3.0)})
    assert found.status == status and found.numbers["converter_ranges"]["compared"] == 1


def test_a_range_always_holds_zero() -> None:
    row = {"real": "r", "layer": "RELU", "scale": 0.02, "low": 0.0, "high": 3.0}
    assert compare_ranges([row], {"r": (0.5, 3.0)}).status == AGREE


def test_a_symmetric_range_reaches_to_the_furthest_value() -> None:
    row = {"real": "r", "layer": "ADD", "scale": 0.02, "low": -2.56, "high": 2.54}
    assert compare_ranges([row], {"r": (-0.3, 2.53)}).status == AGREE
    assert compare_ranges([row], {"r": (-2.55, 0.3)}).status == AGREE
    assert compare_ranges([row], {"r": (-0.3, 2.3)}).status == MISMATCH


@pytest.mark.parametrize(
    ("calibrated", "zero_point", "status"),
    [
        ((-0.17, 3.995), 10, AGREE), ((-0.17, 3.995), 9, MISMATCH),
        ((-0.17, 3.995), 11, MISMATCH),  # the range would end at 3.94, inside
        ((-0.25, 3.995), 10, MISMATCH), ((0.0, 3.995), 10, MISMATCH),
    ],
)  # fmt: skip
def test_an_end_may_move_until_zero_is_a_whole_number_of_steps(
    calibrated: tuple[float, float], zero_point: int, status: str
) -> None:
    low = -0.17  # is kept; 0.17 to 3.995 has its zero at 10.4 of 255 steps
    step = -low / zero_point
    row = {"real": "r", "layer": "GELU", "scale": step, "low": low, "high": low + 255 * step}
    found = compare_ranges([row], {"r": calibrated})
    assert found.status == status and found.numbers["converter_ranges"]["worst_steps"] > 3
    turned = {**row, "low": -row["high"], "high": -row["low"]}
    assert compare_ranges([turned], {"r": (-calibrated[1], -calibrated[0])}).status == status


def test_the_output_that_falls_shortest_decides_by_approximation() -> None:
    own = {"a": 40.0, "b": 30.0}
    assert compare_by_approximation(own, {"out0": 34.5, "out1": 50.0}).status == AGREE
    found = compare_by_approximation(own, {"out0": 80.0, "out1": 23.5})
    assert found.status == MISMATCH and found.reason.startswith("b: 23.5 dB, 6.5 dB under")
    assert found.numbers["short_of_own_db"] == 6.5
    assert compare_by_approximation(own, {"out0": 40.0, "out1": -np.inf}).status == MISMATCH
    assert compare_by_approximation(own, {"out0": None, "out1": None}).status == UNVERIFIED
    assert compare_by_approximation(own, {"out0": 40.0}).status == UNVERIFIED
    assert compare_by_approximation({}, {}).status == UNVERIFIED


def test_the_ratio_of_signal_to_noise() -> None:
    truth = np.array([[3.0, 4.0]])
    assert sqnr(truth + np.array([[0.0, 0.5]]), truth) == pytest.approx(20.0)
    assert sqnr(truth, truth) is None and sqnr(truth, 0 * truth) is None
    ratios = signal_to_noise(
        {"y": truth, "n": np.array([1])}, {"out0": np.array([[3.0, np.nan]]), "out1": np.array([1])}
    )
    assert ratios == {"y": -np.inf, "n": 0.0}


def test_more_than_float32_holds_is_asked_of_nobody() -> None:
    assert compare_by_approximation({"y": 303.0}, {"out0": 123.6}).status == AGREE
    short = compare_by_approximation({"y": 303.0}, {"out0": 110.0})
    assert (short.status, short.numbers["short_of_own_db"]) == (MISMATCH, 10.0)


def test_integers_by_approximation_are_compared_by_how_many_differ() -> None:
    labels = np.arange(1000).reshape(10, 100)
    ours, right, wrong = labels.copy(), labels.copy(), labels + 1
    ours[0, :10] = right[0, :15] = -1  # 10 and 15 of 1,000
    own = signal_to_noise({"labels": labels}, {"out0": ours})
    assert own == {"labels": pytest.approx(40.0)}
    found = compare_by_approximation(own, signal_to_noise({"labels": labels}, {"out0": right}), integers=["labels"])
    assert found.status == AGREE
    found = compare_by_approximation(own, signal_to_noise({"labels": labels}, {"out0": wrong}), integers=["labels"])
    assert found.status == MISMATCH and found.numbers["short_of_own_db"] == pytest.approx(40.0)


def test_the_figure_for_the_mutants_is_that_of_the_worst_output_in_floating_point() -> None:
    own = {"labels": 60.0, "y": 30.0, "z": 25.0}
    found = compare_by_approximation(own, {"out0": 55.0, "out1": 29.0, "out2": 24.0}, integers=["labels"])
    assert found.numbers == {"own_sqnr_db": 25.0, "short_of_own_db": 5.0}
    found = compare_by_approximation({"labels": 60.0}, {"out0": 55.0}, integers=["labels"])
    assert found.numbers == {"own_sqnr_db": 60.0, "short_of_own_db": 5.0}


def test_zeros_do_not_pass_where_our_own_quantisation_is_as_far_off() -> None:
    found = compare_by_approximation({"y": 4.6}, {"out0": 0.0})
    assert (found.status, found.kind) == (UNVERIFIED, Unverified.ILL_CONDITIONED)
    assert found.reason == "y: our own quantisation of the model has 4.6 dB, so that zeros would pass"
    assert compare_by_approximation({"y": 7.0}, {"out0": 1.5}).status == AGREE
    assert compare_by_approximation({"y": 4.6}, {"out0": 0.0}, integers=["y"]).status == AGREE
    found = compare_by_approximation({"y": 20.0}, {"out0": -np.inf})
    assert found.reason == "y: another shape than the model's, NaN or Inf"


def test_integers_that_differ_more_than_the_quantisation_changes_do_not_add_up() -> None:
    plain, truth = {"y": np.arange(100)}, {"y": np.arange(100)}
    truth["y"][:5] = -1
    run = {"out0": truth["y"].copy()}
    run["out0"][10:14] = -1
    assert accumulated(plain, truth, run) == pytest.approx(0.8)
    assert accumulated(plain, truth, {"out0": truth["y"] + 1}) == 20.0


def test_the_worst_output_says_how_near_the_unrounded_model_is() -> None:
    truth = {"a": np.array([[3.0, 4.0], [0.0, 1.0]]), "b": np.array([[3.0, 4.0], [0.0, 1.0]])}
    ran = Done(failure=None, arrays={"out0": truth["a"] * 1.001, "out1": truth["b"] * 1.1, "other": truth["a"]})
    found = Judge({}).approximation(ReferenceOutputs(truth, "file", {}, {}, {}), ran)
    assert found["sqnr_db"] == pytest.approx(20.0) and found["E"] > 0.1
