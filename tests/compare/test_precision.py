"""Which precision an error points to, and the results that point to none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bench_plugin.compare.precision import LIKE, effective_by_error, emulated_errors, likeness

TRUTH = {"y": np.random.default_rng(0).standard_normal((8, 5))}
EMULATED = {kind: {"y": TRUTH["y"] * (1 + error)} for kind, error in {"fp32": 1e-7, "fp16": 1e-3, "bf16": 1e-2}.items()}


def inferred(factor: float) -> str:
    errors = emulated_errors(TRUTH, EMULATED)
    return effective_by_error(TRUTH, {"y": TRUTH["y"] * factor}, errors, 8)


@pytest.mark.parametrize(("factor", "name"), [(1.0, "fp32"), (1.0011, "fp16"), (1.012, "bf16"), (1.039, "bf16")])
def test_the_nearest_precision_is_inferred(factor: float, name: str) -> None:
    assert inferred(factor) == name


@pytest.mark.parametrize("factor", [0.0, -1.0, 1.041, 1.5, 2.5, 1e6, math.inf])
def test_a_wrong_result_looks_like_no_precision(factor: float) -> None:
    assert inferred(factor) == ""


def test_a_result_of_another_shape_looks_like_no_precision() -> None:
    errors = emulated_errors(TRUTH, EMULATED)
    assert effective_by_error(TRUTH, {"y": TRUTH["y"][:, :-1]}, errors, 8) == ""
    assert effective_by_error(TRUTH, {}, errors, 8) == ""


def test_the_error_of_an_emulation_is_that_of_its_worst_output() -> None:
    truth = {"a": TRUTH["y"], "n": np.arange(8), "e": np.zeros((8, 0)), "b": TRUTH["y"] * 2}
    right = {"out0": TRUTH["y"], "out1": np.arange(8) + 1, "out2": np.zeros((8, 0)), "out3": TRUTH["y"] * 2}
    centred = TRUTH["y"] - TRUTH["y"].mean(axis=0)
    noise = 0.25 * np.linalg.norm(centred) / np.sqrt(centred.size)
    found = emulated_errors(
        truth,
        {
            "fp32": right, "fp16": {**right, "out0": TRUTH["y"] + noise},
            "bf16": {**right, "out3": right["out3"] + noise},
            "nan": {**right, "out3": right["out3"] * np.nan}, "short": {"out0": TRUTH["y"]},
            "shape": {**right, "out0": TRUTH["y"][:, :2]}, "part": {name: one[:4] for name, one in right.items()},
        },
    )  # fmt: skip
    assert found == {
        "fp32": 0.0, "fp16": pytest.approx(0.25), "bf16": pytest.approx(0.125), "nan": math.inf, "short": math.inf,
        "shape": math.inf, "part": 0.0,
    }  # fmt: skip


def test_only_emulations_that_are_inexact_and_finite_are_candidates() -> None:
    result = {"y": TRUTH["y"] * 1.001}
    assert effective_by_error(TRUTH, result, {"fp32": 0.0, "fp16": math.inf}, 8) == ""
    assert effective_by_error(TRUTH, result, {"fp32": 0.0, "bf16": 0.5}, 8) == "bf16"
    assert effective_by_error(TRUTH, TRUTH, {"fp32": 1e-7, "fp16": 1e-3}, 8) == "fp32"
    assert effective_by_error(TRUTH, result, {"fp16": 1e-4, "bf16": 1e-3}, 8) == "bf16"


def test_a_result_exactly_as_wrong_as_fp32_is_fp32_and_an_error_of_one_is_wrong() -> None:
    truth = {"y": np.array([[2.0, -2.0], [-2.0, 2.0]])}
    eighth = {"y": np.array([[2.5, -2.0], [-2.0, 2.0]])}
    assert effective_by_error(truth, eighth, {"fp32": 0.125, "fp16": 0.125}, 2) == "fp32"
    assert effective_by_error(truth, eighth, {"fp32": 0.01, "fp16": 0.125}, 2) == "fp16"
    assert effective_by_error(truth, {"y": np.array([[6.0, -2.0], [-2.0, 2.0]])}, {"bf16": 0.9}, 2) == ""
    assert effective_by_error(truth, {"y": np.array([[5.9, -2.0], [-2.0, 2.0]])}, {"bf16": 0.9}, 2) == "bf16"


def test_only_the_inputs_that_were_emulated_count() -> None:
    late = {"y": TRUTH["y"].copy()}
    late["y"][4:] += 100
    assert effective_by_error(TRUTH, late, {"fp32": 1e-7}, 4) == "fp32"
    assert effective_by_error(TRUTH, late, {"fp32": 1e-7}, 5) == ""


def test_an_error_of_the_same_size_is_alike_only_in_the_same_direction() -> None:
    rng = np.random.default_rng(1)
    rounding = rng.standard_normal(TRUTH["y"].shape) * 1e-2
    other = rng.standard_normal(TRUTH["y"].shape) * 1e-2
    emulated = {"out0": TRUTH["y"] + rounding}
    assert likeness(TRUTH, {"out0": TRUTH["y"] + rounding}, emulated) == pytest.approx(1.0)
    assert abs(likeness(TRUTH, {"out0": TRUTH["y"] + other}, emulated)) < LIKE
    assert likeness(TRUTH, {"out0": TRUTH["y"] + rounding + other}, emulated) > LIKE
    assert likeness(TRUTH, {"out0": (TRUTH["y"] + rounding)[:, :2]}, emulated) == 0.0
    assert likeness(TRUTH, {"out0": TRUTH["y"]}, emulated) == 0.0


SQUARES = {"y": np.array([[2.0, -2.0], [-2.0, 2.0]])}  # of norm 4, so an error of 0.5 in one number is an E of 0.125


@pytest.mark.parametrize(
    ("errors", "name"),
    [
        pytest.param({"bf16": 0.03125}, "bf16", id="exactly four times the coarsest is still a rounding"),
        pytest.param({"bf16": 0.03124}, "", id="more than four times the coarsest is none"),
        pytest.param({"fp16": 0.125, "fp32": 0.125}, "fp32", id="exactly as wrong as fp32 wherever that is listed"),
        pytest.param({"w16": 0.125, "fp32": 0.25}, "fp32", id="less wrong than fp32 though another is nearer"),
        pytest.param({"w16": 0.125, "fp32": 0.0625}, "w16", id="more wrong than fp32"),
    ],
)
def test_the_bounds_of_what_is_inferred(errors: dict[str, float], name: str) -> None:
    assert effective_by_error(SQUARES, {"y": np.array([[2.5, -2.0], [-2.0, 2.0]])}, errors, 2) == name


def test_likeness_is_that_of_the_output_that_is_most_wrong() -> None:
    error, across = np.array([[0.5, 0.0], [0.0, 0.0]]), np.array([[0.0, 0.5], [0.0, 0.0]])
    (y,) = SQUARES.values()
    truth = {"a": y, "b": y}
    emulated = {"out0": y + error, "out1": y + error}
    assert likeness(truth, {"out0": y + error, "out1": y + 2 * across}, emulated) == pytest.approx(0.0)
    assert likeness(truth, {"out0": y + across, "out1": y + 2 * error}, emulated) == pytest.approx(1.0)
    assert likeness(truth, {"out0": y + 2 * error, "out1": y + across}, emulated) == pytest.approx(1.0)


def test_likeness_uses_what_can_be_compared_and_passes_over_the_rest() -> None:
    error = np.array([[0.5, 0.0], [0.0, 0.0]])
    (y,) = SQUARES.values()
    whole = np.array([[1], [2]])
    assert likeness({"n": whole, "y": y}, {"n": whole, "y": y + error}, {"n": whole, "y": y + error}) == 1.0
    assert likeness({"a": y, "b": y}, {"a": y + error}, {"a": y + error, "b": y}) == 1.0, "an output is missing"
    longer = {"y": np.concatenate([y, y])}
    assert likeness(longer, {"y": np.concatenate([y + error, y])}, {"y": y + error}) == 1.0, "of the first two inputs"


@pytest.mark.parametrize(("factor", "alike"), [(9.9, True), (10.1, False), (1 / 9.9, True), (1 / 10.1, False)])
def test_an_error_of_another_size_is_not_alike_in_any_direction(factor: float, alike: bool) -> None:
    error = np.random.default_rng(3).standard_normal(TRUTH["y"].shape) * 1e-4
    found = likeness(TRUTH, {"y": TRUTH["y"] + factor * error}, {"y": TRUTH["y"] + error})
    assert found == (pytest.approx(1.0, abs=1e-6) if alike else 0.0)
