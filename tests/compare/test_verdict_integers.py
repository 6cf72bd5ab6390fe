"""The verdict on outputs of integers and booleans: exact at fp32, by the share that differs below it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_plugin.compare.noise import Noise
from bench_plugin.compare.table import with_overrides
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED, Comparison, compare
from bench_plugin.domain.outcome import Unverified
from tests.compare.drawing import LAW, Array

NOISE = Noise(E=1e-6, M=5e-6, runs=3)


def judged(truth: Array, actual: Array, noise: Noise = NOISE, **options: Any) -> Comparison:
    return compare({"y": truth}, {"out0": actual}, {"y": noise}, **options)


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, np.bool_])
def test_integers_and_booleans_are_exact(kind: Any) -> None:
    truth = (np.arange(24).reshape(4, 6) % 2).astype(kind)
    assert judged(truth, truth).status == AGREE
    wrong = truth.copy()
    wrong[3, 5] = not wrong[3, 5]
    found = judged(truth, wrong, Noise(0, 0, 3))
    assert (found.status, found.reason) == (MISMATCH, "y: 1 of 24 elements differ")


@LAW
@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=20), st.data())
def test_an_integer_off_by_one_is_seen_at_any_size(values: list[int], data: st.DataObject) -> None:
    truth = np.array(values, np.int64)
    wrong = truth.copy()
    wrong[data.draw(st.integers(0, len(values) - 1))] += data.draw(st.sampled_from([-1, 1]))
    assert judged(truth, truth.copy(), Noise(0, 0, 0)).status == AGREE
    assert judged(truth, wrong, Noise(0, 0, 3)).status == MISMATCH


@pytest.mark.parametrize(("precision", "allowed"), [("fp16", 30), ("bf16", 30)])
def test_below_fp32_integers_may_differ_in_three_times_the_share_of_the_noise(precision: str, allowed: int) -> None:
    truth = np.zeros((10, 200), np.int64)
    noise = Noise(0.005, 0, 1)  # 10 of 2,000

    def found(count: int) -> Comparison:
        run = truth.copy()
        run.reshape(-1)[:count] = 1
        return judged(truth, run, noise, precision=precision)

    right, wrong = found(allowed), found(allowed + 1)
    assert (right.status, right.numbers["needed"]) == (AGREE, pytest.approx(1.0))
    assert right.numbers["outputs"][0]["wrong"] == allowed
    assert (wrong.status, wrong.reason) == (
        MISMATCH, "y: 31 of 2000 elements differ, more than 0.015 of them (noise 0.005)",
    )  # fmt: skip


def test_below_fp32_integers_without_noise_have_the_floor_and_unmeasured_ones_are_exact() -> None:
    truth = np.zeros((10, 200), np.int64)
    run = truth.copy()
    run.reshape(-1)[:2] = 1
    assert judged(truth, run, Noise(0, 0, 1), precision="fp16").status == AGREE
    assert judged(truth, run, Noise(0, 0, 0), precision="fp16").status == MISMATCH
    run[0, 2] = 1
    assert judged(truth, run, Noise(0, 0, 1), precision="fp16").status == MISMATCH
    words = np.array(["cat", "dog"])
    assert judged(words, words[::-1], Noise(0.5, 0, 1), precision="bf16").status == MISMATCH


@pytest.mark.parametrize(
    ("noise", "wrong", "status"),
    [
        (0.0, 1, MISMATCH), (5e-5, 0, AGREE), (5e-5, 5, AGREE), (5e-5, 6, MISMATCH), (0.01, 0, AGREE),
        (0.01, 1000, UNVERIFIED), (0.01, 1001, MISMATCH),
    ],
)  # fmt: skip
def test_at_fp32_integers_differ_only_where_its_own_rounding_decides_some(
    noise: float, wrong: int, status: str
) -> None:
    truth = np.zeros((10, 1000), np.uint8)
    run = truth.copy()
    run.reshape(-1)[:wrong] = 1
    assert judged(truth, run, Noise(noise, 0, 3)).status == status
    assert judged(truth, run, Noise(noise, 0, 0)).status == (MISMATCH if wrong else AGREE), "nothing was measured"


@pytest.mark.parametrize(("wrong", "status"), [(0, UNVERIFIED), (120, UNVERIFIED), (121, MISMATCH)])
def test_labels_that_rounding_alone_changes_prove_nothing_up_to_the_reach_of_it(wrong: int, status: str) -> None:
    truth = np.zeros((10, 100), np.int64)
    run = truth.copy()
    run.reshape(-1)[:wrong] = 1
    found = judged(truth, run, Noise(0.04, 0, 1), precision="fp16")
    assert found.status == status
    assert (found.kind is Unverified.ILL_CONDITIONED) == (status == UNVERIFIED)


def test_a_cap_of_ones_own_that_the_noise_of_labels_exceeds_is_a_mismatch() -> None:
    truth = np.zeros((10, 100), np.int64)
    found = judged(truth, truth, Noise(0.01, 0, 1), precision="fp16", table=with_overrides(cap=0.02))
    assert found.status == MISMATCH and "raise the cap" in found.reason


def test_a_narrowed_integer_type_is_a_note() -> None:
    truth = np.arange(24, dtype=np.int64).reshape(4, 6)
    found = judged(truth, truth.astype(np.int32))
    assert found.status == AGREE
    assert found.notes == ("dtype-changed: int64 to int32",)
    assert judged(truth + 250, (truth + 250).astype(np.uint8)).status == MISMATCH


@pytest.mark.parametrize("kind", [np.float32, np.complex64, "U8"])
def test_integers_as_another_type_never_pass(kind: Any) -> None:
    truth = np.arange(24).reshape(4, 6)
    found = judged(truth, truth.astype(kind))
    assert found.status == MISMATCH
    assert "expected int64" in found.reason
