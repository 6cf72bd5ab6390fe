"""Seeded weights: which parameters are drawn, and which are left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench_plugin.agent.toolkit.conditioning import Perturbation, Weights

Array = np.ndarray[Any, Any]
WEIGHTS = Weights(7)


@pytest.mark.parametrize(
    "like",
    [np.full(400, 1e-6), np.full((400, 1, 1), 1e-6), np.full((1, 1, 400), 1e-5), np.ones(400), np.full(400, 1.01),
     1e-6 * np.random.default_rng(0).random(400)],
)  # fmt: skip
def test_a_scale_that_hides_its_branch_is_drawn_around_one(like: Array) -> None:
    found = WEIGHTS.vector("block.layer_scale", like.astype(np.float32))
    assert found.shape == like.shape and found.dtype == np.float32
    assert abs(found.mean() - 1) < 0.02 and 0.08 < found.std() < 0.12


def test_a_vector_of_zeros_is_drawn_around_zero() -> None:
    found = WEIGHTS.vector("class_token", np.zeros((1, 1, 400), np.float32))
    assert abs(found.mean()) < 0.02 and 0.08 < found.std() < 0.12


@pytest.mark.parametrize("value", [0.0, 1.0, 1e-6])
def test_a_scalar_is_drawn_too(value: float) -> None:
    found = WEIGHTS.vector("gate", np.float32(value) * np.ones((), np.float32))
    assert found.shape == () and found != value and abs(found) < 2


@pytest.mark.parametrize(
    "like",
    [np.random.default_rng(0).normal(size=64).astype(np.float32), np.full(64, 0.25, np.float32),
     np.full((8, 8), 1e-6, np.float32), np.ones((64, 2), np.float32), np.array(3), np.zeros(5, np.int64),
     np.zeros(0, np.float32)],
)  # fmt: skip
def test_everything_else_is_left_alone(like: Array) -> None:
    assert WEIGHTS.vector("weight", like) is like


def test_the_same_seed_and_name_give_the_same_numbers() -> None:
    like = np.ones(16, np.float32)
    assert (WEIGHTS.vector("a", like) == Weights(7).vector("a", like)).all()
    assert (WEIGHTS.vector("a", like) != WEIGHTS.vector("b", like)).any()
    assert (WEIGHTS.vector("a", like) != Weights(8).vector("a", like)).any()


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_a_mask_is_not_perturbed_and_other_inputs_are(kind: str) -> None:
    mask = np.array([[1, 1, 0], [1, 0, 0]], kind)
    assert np.array_equal(Perturbation(3).given(mask), mask)
    for values in (mask * 0.5, mask + 1, mask * np.float32(np.nan)):
        moved, by_call = Perturbation(3).given(values), Perturbation(3)(values)
        assert moved.tobytes() == by_call.tobytes()
    assert (Perturbation(3).given(mask + 1) != mask + 1).all()
