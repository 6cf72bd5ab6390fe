"""The verdict on a run: what agrees, what does not, and what nothing can be said of."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bench_plugin.compare.noise import Noise, measure_noise, tolerance
from bench_plugin.compare.table import DEFAULTS, with_overrides
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED, Comparison, compare
from bench_plugin.domain.outcome import Unverified
from tests.compare.drawing import LAW, SEEDS, Array, alike_first, drawn

NOISE = Noise(E=1e-6, M=5e-6, runs=3)
PRECISIONS = st.sampled_from(["fp32", "fp16", "bf16"])


def judged(truth: Array, actual: Array, noise: Noise = NOISE, **options: Any) -> Comparison:
    return compare({"y": truth}, {"out0": actual}, {"y": noise}, **options)


def off_by(truth: Array, e: float, seed: int = 99) -> Array:
    """The truth with errors of one size and random sign, so that E and M both equal ``e``."""
    centred = truth - truth.mean(axis=0)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], truth.shape)
    moved: Array = truth + signs * e * np.sqrt((centred**2).mean())
    return moved


@LAW
@given(SEEDS, PRECISIONS)
def test_the_truth_agrees_with_itself(seed: int, precision: str) -> None:
    found = judged(drawn(seed), drawn(seed), precision=precision)
    assert (found.status, found.reason, found.notes) == (AGREE, "", ())
    assert found.numbers["E"] == 0
    assert found.numbers["needed"] == 0
    assert found.numbers["outputs"][0]["bit_identical"] is True


@LAW
@given(SEEDS, PRECISIONS, st.floats(0, 1e-4), st.floats(0.01, 0.95))
def test_within_the_tolerance_passes_and_ten_times_beyond_fails(
    seed: int, precision: str, level: float, share: float
) -> None:
    truth, noise = drawn(seed), Noise(level, 5 * level, 3)
    limit = tolerance(noise, DEFAULTS.row(precision))
    inside = judged(truth, off_by(truth, share * limit.E, seed), noise, precision=precision)
    beyond = judged(truth, off_by(truth, 10 * limit.E, seed), noise, precision=precision)
    assert inside.status == AGREE
    assert beyond.status == MISMATCH
    assert inside.numbers["needed"] < 1 < beyond.numbers["needed"]


@LAW
@given(SEEDS, st.floats(1e-6, 1e6), st.floats(1e-9, 1))
def test_the_unit_of_the_outputs_changes_no_verdict(seed: int, factor: float, error: float) -> None:
    truth = drawn(seed)
    actual = off_by(truth, error)
    one, other = judged(truth, actual), judged(truth * factor, actual * factor)
    assert one.numbers["E"] == pytest.approx(other.numbers["E"], rel=1e-6)
    assume(abs(one.numbers["needed"] - 1) > 1e-6)  # on the tolerance itself the last digit of the factor decides
    assert one.status == other.status


@LAW
@given(SEEDS, PRECISIONS)
def test_a_constant_answer_never_passes(seed: int, precision: str) -> None:
    truth = drawn(seed) + 30
    found = judged(truth, np.broadcast_to(truth.mean(axis=0), truth.shape), precision=precision)
    assert found.status == MISMATCH
    assert found.numbers["E"] == pytest.approx(1, rel=1e-6)


@LAW
@given(SEEDS)
def test_rounding_to_single_precision_agrees(seed: int) -> None:
    truth = drawn(seed)
    rounded = truth.astype(np.float32)
    found = judged(truth, rounded, measure_noise(truth, [rounded]))
    assert found.status == AGREE
    assert found.numbers["outputs"][0]["bit_identical"] is True
    nudged = rounded.copy()
    nudged[0, 0] = np.nextafter(nudged[0, 0], np.float32(9))
    assert judged(truth, nudged).numbers["outputs"][0]["bit_identical"] is False


def test_half_precision_is_no_single_precision() -> None:
    truth = drawn(1)
    half = truth.astype(np.float16)
    assert judged(truth, half).status == MISMATCH
    assert judged(truth, half, measure_noise(truth, [half]), precision="fp16").status == AGREE


def test_one_far_element_fails_by_m_alone() -> None:
    truth = drawn(1, (8, 100_000))
    actual = truth.copy()
    actual[5, 77] += 1e-3
    found = judged(truth, actual)
    assert found.status == MISMATCH
    assert found.reason.startswith("y: M ")
    assert found.numbers["E"] < found.numbers["tolerance_E"]


@pytest.mark.parametrize("actual", [{}, {"out0": drawn(1)}])
def test_a_missing_output_never_passes(actual: dict[str, Array]) -> None:
    truth = {"a": drawn(1), "b": drawn(2)}
    found = compare(truth, actual, {"a": NOISE, "b": NOISE})
    assert found.status == MISMATCH
    assert found.reason == f"{len(actual)} outputs where 2 are needed"


def test_nothing_to_compare_with_never_passes() -> None:
    assert compare({}, {}, {}).status == MISMATCH
    assert compare({}, {"out0": drawn(1)}, {}).status == MISMATCH


@pytest.mark.parametrize("shape", [(8,), (8, 1), (8, 11), (12, 8), (1, 8, 12), (7, 12), (0, 12), ()])
def test_a_wrong_shape_never_passes(shape: tuple[int, ...]) -> None:
    found = judged(drawn(1), np.zeros(shape))
    assert found.status == MISMATCH
    assert found.reason == f"y: shape {list(shape)}, expected [8, 12]"


@pytest.mark.parametrize("kind", [np.int64, np.bool_, np.complex128, "U8"])
def test_a_wrong_type_never_passes(kind: Any) -> None:
    truth = np.arange(24.0).reshape(4, 6)
    found = judged(truth, truth.astype(kind))
    assert found.status == MISMATCH
    assert "expected floating point" in found.reason


@LAW
@given(SEEDS, st.sampled_from([np.nan, np.inf, -np.inf]), st.integers(0, 95), PRECISIONS)
def test_nan_and_infinity_never_pass(seed: int, bad: float, where: int, precision: str) -> None:
    actual = drawn(seed)
    actual.flat[where] = bad
    found = judged(drawn(seed), actual, precision=precision)
    assert found.status == MISMATCH
    assert found.numbers["outputs"][0]["nan"] + found.numbers["outputs"][0]["inf"] == 1


@pytest.mark.parametrize("shape", [(0, 12), (8, 0)])
@pytest.mark.parametrize("kind", [np.float64, np.int64])
def test_zero_elements_never_pass(shape: tuple[int, ...], kind: Any) -> None:
    found = judged(np.zeros(shape, kind), np.zeros(shape, kind))
    assert (found.status, found.reason) == (UNVERIFIED, "y: no element to compare")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_truth_that_is_not_finite_proves_nothing(bad: float) -> None:
    truth = drawn(1)
    truth[2, 3] = bad
    assert judged(truth, truth).status == UNVERIFIED


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3])
@pytest.mark.parametrize("error", [0.0, 1e-8, 1.0])
def test_a_truth_that_does_not_change_proves_nothing(value: float, error: float) -> None:
    found = judged(np.full((7, 5), value), np.full((7, 5), value + error))
    assert found.status == UNVERIFIED
    assert "does not change over the inputs" in found.reason
    json.dumps(dict(found.numbers), allow_nan=False)


def test_a_truth_that_only_rounding_changes_proves_nothing() -> None:
    truth = 0.7 + 1e-16 * np.arange(35).reshape(7, 5)
    found = judged(truth, truth + 1e-8)
    assert found.status == UNVERIFIED and "does not change over the inputs" in found.reason
    assert judged(0.7 + 1e-10 * np.arange(35).reshape(7, 5), truth + 1e-8).status == MISMATCH, "a change of its own"


def test_one_input_proves_nothing() -> None:
    assert judged(drawn(1, (1, 12)), drawn(1, (1, 12))).status == UNVERIFIED


@pytest.mark.parametrize("noise", [{}, {"y": Noise(0, 0, 0)}, {"other": NOISE}])
@pytest.mark.parametrize("actual", [drawn(1), drawn(2)])
def test_without_measured_noise_nothing_is_proven(noise: dict[str, Noise], actual: Array) -> None:
    found = compare({"y": drawn(1)}, {"out0": actual}, noise)
    assert (found.status, found.reason) == (UNVERIFIED, "y: the noise of this precision was not measured")


ILL = [("fp32", 1.1e-4, 10), ("fp16", 1.7e-2, 3), ("bf16", 0.11, 3)]  # the noise that exceeds the cap, and k


@pytest.mark.parametrize("precision, level, k", ILL)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_where_noise_reaches_the_cap_nothing_is_proven(precision: str, level: float, k: int, share: float) -> None:
    truth = drawn(1)
    actual = off_by(truth, share * k * level)
    found = judged(truth, actual, Noise(level, level, 3), precision=precision)
    assert (found.status, found.kind) == (UNVERIFIED, Unverified.ILL_CONDITIONED)
    assert found.reason.startswith("y: ill-conditioned: noise ")
    well = judged(truth, actual, Noise(level / 2, level / 2, 3), precision=precision)
    assert well.status != UNVERIFIED


@pytest.mark.parametrize("precision, level, k", ILL)
@pytest.mark.parametrize("times", [1.01, 30, 1e6])
def test_what_is_far_beyond_the_noise_is_wrong_however_large_the_noise(
    precision: str, level: float, k: int, times: float
) -> None:
    truth = drawn(1)
    found = judged(truth, off_by(truth, times * k * level), Noise(level, level, 3), precision=precision)
    assert found.status == MISMATCH
    assert "is beyond the noise" in found.reason


def test_fast_math_is_excused_further_but_not_for_ever() -> None:
    truth, noise = drawn(1), Noise(2e-4, 2e-4, 3)
    assert judged(truth, off_by(truth, 5e-3), noise).status == MISMATCH
    assert judged(truth, off_by(truth, 5e-3), noise, loose=True).status == UNVERIFIED
    assert judged(truth, off_by(truth, 0.1), noise, loose=True).status == MISMATCH


def test_declared_fast_math_loosens_and_only_where_asked() -> None:
    truth = drawn(1)
    noise = Noise(1e-6, 1e-6, 3)
    actual = off_by(truth, 5e-5)
    assert judged(truth, actual, noise).status == MISMATCH
    assert judged(truth, actual, noise, loose=True).status == AGREE
    assert judged(truth, actual, noise, loose=True).numbers["tolerance_E"] == pytest.approx(1e-4)


def test_a_marker_tightens() -> None:
    truth = drawn(1)
    actual, noise = off_by(truth, 5e-6), Noise(1e-6, 1e-6, 3)
    assert judged(truth, actual, noise).status == AGREE
    assert judged(truth, actual, noise, table=with_overrides(k=2)).status == MISMATCH
    assert judged(truth, actual, noise, table=with_overrides(cap=2e-5)).status == AGREE


@pytest.mark.parametrize("error", [0.0, 5e-6])
def test_a_cap_below_the_noise_of_the_model_fails_and_says_so(error: float) -> None:
    truth = drawn(1)
    found = judged(truth, off_by(truth, error), Noise(1e-6, 1e-6, 3), table=with_overrides(cap=1e-6))
    assert found.status == MISMATCH
    assert "the cap 1.0e-06 of this test's tolerance is tighter than the model's own noise allows" in found.reason
    assert found.reason.endswith("10 x noise 1.0e-06 = 1.0e-05; raise the cap")


def test_a_wider_cap_is_no_demand() -> None:
    truth = drawn(1)
    found = judged(truth, off_by(truth, 0.1), Noise(0.1, 0.1, 3), table=with_overrides(cap=0.5))
    assert found.status == UNVERIFIED


def test_the_figures_are_of_the_output_that_decides() -> None:
    truth = drawn(1)
    runs = {"out0": off_by(truth, 0.5), "out1": off_by(truth, 2e-4)}
    noises = {"chaotic": Noise(0.1, 0.4, 3), "wrong": NOISE}
    found = compare({"chaotic": truth, "wrong": truth}, runs, noises)
    assert [row["status"] for row in found.numbers["outputs"]] == [UNVERIFIED, MISMATCH]
    assert found.status == MISMATCH and found.reason.startswith("wrong: ")
    assert found.numbers["E"] == pytest.approx(2e-4) == found.numbers["outputs"][1]["E"]


def test_strings_are_exact() -> None:
    truth = np.array([["cat"], ["dog"]])
    assert judged(truth, np.array([["cat"], ["dog"]], dtype="U9")).status == AGREE
    assert judged(truth, np.array([["cat"], ["dig"]])).status == MISMATCH
    assert judged(truth, np.array([[0.0], [1.0]])).status == MISMATCH


@pytest.mark.parametrize("precision, tiny", [("fp32", 1e-39), ("fp16", 3e-5), ("bf16", 1e-39)])
def test_numbers_too_small_for_the_precision_may_be_zero(precision: str, tiny: float) -> None:
    truth = drawn(1)
    truth[0, :3] = tiny
    flushed = truth.copy()
    flushed[0, :3] = 0
    found = judged(truth, flushed, precision=precision)
    assert (found.status, found.notes) == (AGREE, ("ftz",))
    assert judged(truth, truth, precision=precision).notes == ()


def test_small_numbers_that_the_precision_has_may_not_be_zero() -> None:
    truth = 1e-30 * drawn(1)
    assert judged(truth, truth).status == AGREE
    assert judged(truth, np.zeros_like(truth)).status == MISMATCH


def test_nothing_but_flushed_numbers_prove_nothing() -> None:
    truth = 1e-40 * drawn(1)
    found = judged(truth, np.zeros_like(truth))
    assert (found.status, found.reason, found.notes) == (UNVERIFIED, "y: nothing but numbers flushed to zero", ("ftz",))


def test_an_answer_of_zeros_is_not_excused_by_one_tiny_number() -> None:
    truth = drawn(1)
    truth[0, 0] = 1e-40
    assert judged(truth, np.zeros_like(truth)).status == MISMATCH


def test_overflow_of_half_precision_is_a_range() -> None:
    truth = 1e5 * drawn(1)
    with np.errstate(over="ignore"):
        half = truth.astype(np.float16)
    found = judged(truth, half, precision="fp16")
    assert (found.status, found.reason, found.notes) == (UNVERIFIED, "y: range: the truth exceeds fp16", ("range",))
    assert judged(truth, half).status == MISMATCH
    assert judged(truth, np.where(np.isinf(half), np.nan, half), precision="fp16").status == MISMATCH
    assert judged(truth, np.clip(truth, -65504, 65504).astype(np.float16), precision="fp16").status == MISMATCH


def test_infinity_within_the_range_is_no_excuse() -> None:
    truth = drawn(1)
    actual = truth.copy()
    actual[0, 0] = np.inf
    assert judged(truth, actual, precision="fp16").status == MISMATCH


def test_outputs_are_matched_by_position() -> None:
    truth = {"logits": drawn(1), "features": drawn(2)}
    noise = dict.fromkeys(truth, NOISE)
    assert compare(truth, {"a": drawn(1), "b": drawn(2)}, noise).status == AGREE
    assert compare(truth, {"features": drawn(2), "logits": drawn(1)}, noise).status == MISMATCH


def test_an_output_too_many_is_a_note() -> None:
    found = compare({"y": drawn(1)}, {"out0": drawn(1), "out1": drawn(2)}, {"y": NOISE})
    assert (found.status, found.notes) == (AGREE, ("1 outputs more than the model has",))


def test_the_worst_output_decides_and_is_shown() -> None:
    truth = {"good": drawn(1), "bad": drawn(2), "constant": np.ones((8, 2))}
    actual = {"out0": drawn(1), "out1": off_by(drawn(2), 0.1), "out2": np.ones((8, 2))}
    found = compare(truth, actual, dict.fromkeys(truth, NOISE))
    assert found.status == MISMATCH
    assert found.reason.startswith("bad: E ")
    assert [row["status"] for row in found.numbers["outputs"]] == [AGREE, MISMATCH, UNVERIFIED]
    del truth["bad"], actual["out1"]
    found = compare(truth, actual, dict.fromkeys(truth, NOISE))
    assert (found.status, found.reason[:9]) == (UNVERIFIED, "constant:")


def test_notes_name_their_output_where_there_are_several() -> None:
    labels = np.arange(8)
    found = compare({"y": drawn(1), "labels": labels}, {"a": drawn(1), "b": labels.astype(np.int32)}, {"y": NOISE})
    assert (found.status, found.notes) == (AGREE, ("labels: dtype-changed: int64 to int32",))


def test_agreement_of_the_top_and_its_excluded_share() -> None:
    truth = np.tile([0.0, 1.0, 0.0], (8, 1)) + drawn(1, (8, 3)) * 0.01
    truth[:2] = [0.5, 0.5, 0.0]
    row = judged(truth, truth).numbers["outputs"][0]
    assert (row["top_agreement"], row["top_excluded"]) == (1.0, 0.25)
    swapped = truth.copy()
    swapped[7] = swapped[7, ::-1] * [1, 0, 3]
    row = judged(truth, swapped).numbers["outputs"][0]
    assert row["top_agreement"] == pytest.approx(5 / 6)


def test_of_mostly_unclear_tops_nothing_is_said() -> None:
    truth = np.tile([0.5, 0.5, 0.0], (8, 1))
    truth[:3] = np.eye(3)
    row = judged(truth, truth).numbers["outputs"][0]
    assert (row["top_agreement"], row["top_excluded"]) == (None, 0.625)


@LAW
@given(SEEDS, st.sampled_from([0.0, 1e-6, 1e-2, 1.0]), PRECISIONS)
def test_numbers_are_plain_data(seed: int, error: float, precision: str) -> None:
    truth = drawn(seed)
    numbers = judged(truth, off_by(truth, error), precision=precision).numbers
    assert json.loads(json.dumps(dict(numbers), allow_nan=False)) == numbers
    assert {"E", "M", "tolerance_E", "tolerance_M", "max_abs", "max_rel", "cosine", "needed"} <= set(numbers)


def test_inputs_are_left_alone() -> None:
    truth, actual = drawn(1), drawn(1)
    truth[0, 0], actual[0, 0] = 1e-40, 0
    truth.flags.writeable = actual.flags.writeable = False
    assert judged(truth, actual).notes == ("ftz",)


def test_the_rule_judges_the_first_inputs_in_units_of_all() -> None:
    """In units of four inputs that are nearly alike any rounding would be a mismatch, and any mutant noticed."""
    truth = alike_first(4)
    run = truth + 1e-3 * drawn(2, truth.shape)
    whole = judged(truth, run, Noise(5e-4, 5e-4, 1), precision="fp16")
    assert whole.status == AGREE and whole.rule is not None
    first = whole.rule.judge({"out0": run[:4]})
    assert first.status == AGREE
    assert pytest.approx(whole.numbers["E"], rel=0.1) == first.numbers["E"]
    assert whole.rule.judge({"out0": truth[:4] + 5e-3 * drawn(2, truth.shape)[:4]}).status == MISMATCH
