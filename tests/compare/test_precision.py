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
