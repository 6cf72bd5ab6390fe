"""Which precision an error points to, and the results that point to none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bench_plugin.compare.precision import effective_by_error, emulated_errors

TRUTH = {"y": np.random.default_rng(0).standard_normal((8, 5))}
EMULATED = {kind: {"y": TRUTH["y"] * (1 + error)} for kind, error in {"fp32": 1e-7, "fp16": 1e-3, "bf16": 1e-2}.items()}


def inferred(factor: float) -> str:
    errors = emulated_errors(TRUTH, EMULATED)
    return effective_by_error(TRUTH, {"y": TRUTH["y"] * factor}, errors, 8)


@pytest.mark.parametrize(("factor", "name"), [(1.0, "fp32"), (1.0011, "fp16"), (1.012, "bf16"), (1.5, "bf16")])
def test_the_nearest_precision_is_inferred(factor: float, name: str) -> None:
    assert inferred(factor) == name


@pytest.mark.parametrize("factor", [0.0, -1.0, 2.5, 1e6, math.inf])
def test_a_wrong_result_looks_like_no_precision(factor: float) -> None:
    assert inferred(factor) == ""


def test_a_result_of_another_shape_looks_like_no_precision() -> None:
    errors = emulated_errors(TRUTH, EMULATED)
    assert effective_by_error(TRUTH, {"y": TRUTH["y"][:, :-1]}, errors, 8) == ""
    assert effective_by_error(TRUTH, {}, errors, 8) == ""
