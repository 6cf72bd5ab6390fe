"""An error that is the effect of a mistake is recognised below the tolerance, and no other error is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_plugin.compare.mistakes import FEWEST, Likeness, likenesses
from bench_plugin.compare.noise import Noise
from bench_plugin.compare.strength import Strength, strength
from bench_plugin.compare.table import DEFAULTS, with_overrides
from bench_plugin.compare.verdict import AGREE, compare
from tests.compare.drawing import LAW, SEEDS, Array, drawn

NOISE = Noise(E=1e-6, M=4e-6, runs=3)
FAINT = "layernorm eps 1e-10"  # of the kind of a rounding, which refuses no verdict


def effect(seed: int, like: Array, e: float) -> Array:
    """An effect of this E in a direction of its own."""
    drawn_: Array = np.random.default_rng(seed).normal(0, 1, like.shape)
    centred = like - like.mean(axis=0)
    return drawn_ * (e * np.linalg.norm(centred) / np.linalg.norm(drawn_))


def judged(truth: Array, run: Array, mutant: Array, name: str = FAINT) -> Strength:
    found = compare({"y": truth}, {"out0": run}, {"y": NOISE})
    assert found.status == AGREE and found.rule is not None, "the error has to be within the tolerance"
    return strength(
        found.rule, {"out0": run}, {"out0": truth}, {name: {"out0": mutant}}, {"y": NOISE}, sites={name: "2 nodes"}
    )


@LAW
@given(SEEDS, st.floats(2e-6, 8e-6))
def test_a_run_with_the_mistake_is_recognised(seed: int, e: float) -> None:
    truth = drawn(seed)
    wrong = truth + effect(seed, truth, e)
    found = judged(truth, wrong, wrong)
    assert f"{FAINT!r} at 2 nodes" in found.made and "1.00 times its size" in found.made


@LAW
@given(SEEDS)
def test_a_run_with_another_error_of_the_same_size_made_no_mistake(seed: int) -> None:
    truth = drawn(seed)
    found = judged(truth, truth + effect(seed + 1, truth, 5e-6), truth + effect(seed + 2, truth, 5e-6))
    assert found.made == ""


@pytest.mark.parametrize(("size", "made"), [(1.0, True), (1.09, True), (1.12, False), (0.92, True), (0.9, False)])
def test_the_size_of_the_error_has_to_be_that_of_the_mistake(size: float, made: bool) -> None:
    truth = drawn(3)
    one = effect(3, truth, 5e-6)
    assert bool(judged(truth, truth + size * one, truth + one).made) is made


@pytest.mark.parametrize(("share", "made"), [(0.2, True), (0.32, True), (0.34, False)])
def test_other_errors_beside_the_mistake_may_be_a_third_of_it(share: float, made: bool) -> None:
    truth = drawn(3)
    one, other = effect(3, truth, 5e-6), effect(4, truth, 5e-6)
    other -= one * float((one * other).sum() / (one * one).sum())
    other *= share * np.linalg.norm(one) / np.linalg.norm(other)
    assert bool(judged(truth, truth + one + other, truth + one).made) is made


def test_the_opposite_error_is_not_the_mistake() -> None:
    truth = drawn(3)
    one = effect(3, truth, 5e-6)
    assert judged(truth, truth - one, truth + one).made == ""


def test_an_effect_below_the_noise_of_float32_is_none() -> None:
    truth = drawn(3)
    one = effect(3, truth, 5e-7)
    assert judged(truth, truth + one, truth + one).made == ""


def test_a_faint_mutant_is_noticed_by_its_direction() -> None:
    truth = drawn(3)
    one = effect(3, truth, 5e-6)
    found = judged(truth, truth, truth + one, "bias in float16")
    assert found.missed == () and found.table["bias in float16"]["ratio"] < 1
    noisy = judged(truth, truth + effect(4, truth, 5e-6), truth + one, "bias in float16")
    assert noisy.missed == ("bias in float16",), "the error of the run itself hides it"


def test_a_tolerance_of_the_test_s_own_decides_alone() -> None:
    truth = drawn(3)
    wrong = truth + effect(3, truth, 5e-6)
    found = compare({"y": truth}, {"out0": wrong}, {"y": NOISE}, table=with_overrides(floor=0.5, cap=0.5))
    assert found.rule is not None
    assert strength(found.rule, {"out0": wrong}, {"out0": truth}, {FAINT: {"out0": wrong}}, {"y": NOISE}).made == ""


def test_of_several_mistakes_the_most_alike_one_is_named() -> None:
    truth = drawn(3)
    one = effect(3, truth, 5e-6)
    near = one + 0.2 * effect(5, truth, 5e-6)
    found = compare({"y": truth}, {"out0": truth + one}, {"y": NOISE})
    assert found.rule is not None
    mutants = {"layernorm eps 1e-3": {"out0": truth + near}, FAINT: {"out0": truth + one}}
    assert FAINT in strength(found.rule, {"out0": truth + one}, {"out0": truth}, mutants, {"y": NOISE}).made


def test_outputs_that_say_nothing_are_left_out() -> None:
    whole = np.ones((FEWEST, 1))
    for one in (whole[1:], whole.astype(int), np.where(whole > 0, np.nan, 0.0)):
        assert likenesses({"y": one}, {"y": one}, {"y": one}, {"y": one}) == []
    assert likenesses({"y": whole}, {"y": whole}, {"y": whole}, {"y": whole[1:]}) == []
    (found,) = likenesses({"y": whole}, {"y": whole + 1}, {"y": whole}, {"y": whole + 2})
    assert found == Likeness(ee=FEWEST, ed=2 * FEWEST, dd=4 * FEWEST)


def test_where_nothing_is_wrong_nothing_is_alike() -> None:
    for one in (Likeness(0.0, 0.0, 1.0), Likeness(1.0, 0.0, 0.0), Likeness(0.0, 0.0, 0.0)):
        assert one.cosine == 0 and not one.alike(DEFAULTS)
    assert Likeness(4.0, 2.0, 1.0).size == 2
    assert Likeness(1.0, 0.5, 1.0).with_effect() == Likeness(3.0, 1.5, 1.0)
