"""The float64 references know how many terms a sum has, and evaluate in float32 what is defined for float32 alone."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains

ROOT = Path(__file__).parents[2]
TERMS = {
    "matmul": 70, "gemm": 71, "conv": 61, "conv_transpose": 72, "einsum": 10, "einsum_ellipsis": 5, "reduce_mean": 15,
    "reduce_all": 60, "average_pool": 12, "global_average_pool": 72, "cumsum": 7, "sum": 3, "loss": 60,
    "loss_of_each": 1, "relu": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    command = [str(Toolchains().ensure("onnxruntime")), str(Path(__file__).with_name("sums_of_operators.py"))]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_terms_of_a_sum_come_from_its_node_and_shapes(said: dict[str, Any]) -> None:
    assert said["terms"] == TERMS


def test_what_the_rounding_of_a_long_sum_may_change_is_a_part_of_the_spread(said: dict[str, Any]) -> None:
    mean = said["mean"]
    assert mean["error"] > 16 * 2.0**-24 * mean["mean"], "a rule that does not know n refuses it"
    assert mean["error"] < 16 * mean["spread"]
    assert 16 * mean["spread"] == pytest.approx(2 * 300 * 2.0**-24 * mean["mean"], rel=0.1), "2 sqrt(n) u S"


def test_coefficients_of_a_resize_are_those_of_float64(said: dict[str, Any]) -> None:
    assert said["cubic"] < 1e-13, "with cubic_coeff_a as a float32 it is 2.5e-6"


def test_dynamic_quantisation_is_that_of_float32(said: dict[str, Any]) -> None:
    found = said["dynamic"]
    assert found["steps"] == 0 and found["worst"] < 1e-6
    assert found["kind"] == "float64", "what follows is evaluated in float64"
