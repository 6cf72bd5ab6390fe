"""Parts of an output that are far smaller than the others: found in the truth, and judged by their own noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.noise import Noise, larger, measure_noise
from bench_plugin.compare.parts import parts_of
from bench_plugin.compare.strength import strength
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED, Comparison, compare
from tests.compare.drawing import Array

SCORES = slice(4, 12)
RNG = np.random.default_rng(3)


def detector(inputs: int = 6, smaller: float = 640.0) -> Array:
    """[inputs, 12, 50]: four rows of boxes in pixels, and the scores of eight classes, which are from 0 to 1."""
    truth = RNG.uniform(0, 640, (inputs, 12, 50))
    truth[:, SCORES] *= 1 / smaller
    return truth


def rounded(truth: Array, share: float) -> Array:
    """Every value off by up to a share of itself, as by rounding to a format."""
    moved: Array = truth * (1 + np.random.default_rng(8).uniform(-share, share, truth.shape))
    return moved


def judged(truth: Array, actual: Array, noise: Noise, precision: str = "bf16") -> Comparison:
    return compare({"y": truth}, {"out0": actual}, {"y": noise}, precision=precision)


@pytest.mark.parametrize("turned", [False, True])
def test_scores_beside_boxes_are_a_part(turned: bool) -> None:
    truth = detector()
    (part,) = parts_of(truth.transpose(0, 2, 1) if turned else truth)
    assert (part.axis, part.start, part.stop) == (-1 if turned else -2, 4, 12)
    assert part.smaller == pytest.approx(640, rel=0.1)
    assert str(part).startswith(f"elements 4 to 11 of axis {-1 if turned else -2}, which are 6")


def uneven(factors: Any) -> Array:
    return RNG.standard_normal((8, len(factors), 40)) * np.array(factors, dtype=np.float64).reshape(1, -1, 1)


@pytest.mark.parametrize(
    "truth",
    [
        pytest.param(RNG.standard_normal((8, 10)), id="even"),
        pytest.param(uneven([1, 0.25, 1, 1]), id="a quarter"),
        pytest.param(uneven([1, 0.05, 1, 1])[:, :, :7], id="a twentieth of 56 numbers"),
        pytest.param(uneven([1, 0.01] * 4), id="here and there"),
        pytest.param(uneven([1, 0.4, 0.1, 0.03, 1]), id="others are nearly as small"),
        pytest.param(uneven([1, 1e-6, 1]), id="silent"),
        pytest.param(uneven([1, 0, 1]), id="constant"),
        pytest.param(np.ones((4, 6)), id="nothing changes"),
        pytest.param(RNG.standard_normal((1, 10)), id="one input"),
        pytest.param(np.array([[np.inf, 1.0], [0.0, 1.0]]), id="not finite"),
        pytest.param(np.zeros((0, 4)), id="no input"),
    ],
)
def test_most_outputs_have_no_parts(truth: Array) -> None:
    assert parts_of(truth) == ()


def test_a_part_of_many_numbers_is_one_from_five_times_smaller_on() -> None:
    """Scores beside boxes that are not in pixels but in cells of a grid: no tolerance of 16 bits shows them."""
    truth = uneven([1, 0.5, 0.04, 0.04, 1])
    (part,) = parts_of(truth)
    assert (part.start, part.stop) == (2, 4) and part.smaller == pytest.approx(25, rel=0.3)
    (least,) = parts_of(uneven([1, 0.05, 1, 1])[:, :, :8])
    assert (least.start, least.stop) == (1, 2)
    right, wrong = rounded(truth, 2**-6), rounded(truth, 2**-6)
    wrong[:, [2, 3]] = wrong[:, [3, 2]]
    noise = measure_noise(truth, [2 * truth - rounded(truth, 2**-6)])
    assert judged(truth, right, noise).status == AGREE
    assert judged(truth, wrong, noise).status == MISMATCH
    assert judged(truth, wrong, Noise(0.03, 10 * noise.M, 1)).status == AGREE, "the whole alone does not show it"


def test_a_part_within_a_part_is_judged_by_itself_too() -> None:
    found = parts_of(uneven([1, 1, 0.1, 0.1, 0.002]))
    assert [(part.start, part.stop) for part in found] == [(4, 5), (2, 5)]


def test_three_small_parts_are_judged_and_four_are_not() -> None:
    assert [part.start for part in parts_of(uneven([1, 0.01] * 3))] == [1, 3, 5]
    assert parts_of(uneven([1, 0.01] * 4)) == ()


def test_one_of_many_logits_that_is_small_by_chance_is_no_part() -> None:
    rng = np.random.default_rng(5)
    small = parts = 0
    for _ in range(300):  # what changes from input to input goes along few directions, as in a model without training
        truth = rng.standard_normal((16, 2)) @ rng.standard_normal((2, 200))
        sizes = truth.std(axis=0)
        small += 1 <= int((sizes * 30 < sizes.max()).sum()) <= 3
        parts += bool(parts_of(truth))
    assert small > 100
    assert parts < 0.1 * small


def test_wrong_scores_beside_right_boxes_are_a_mismatch() -> None:
    truth = detector()
    noise = measure_noise(truth, [rounded(truth, 2**-8)])
    right = judged(truth, rounded(truth, 2**-8), noise)
    assert (right.status, right.reason) == (AGREE, "")
    (row,) = right.numbers["outputs"][0]["parts"]
    assert row["E"] < row["tolerance_E"] and right.numbers["outputs"][0]["needed"] <= 1
    wrong = rounded(truth, 2**-8)
    wrong[:, SCORES] = np.roll(wrong[:, SCORES], 1, axis=1)
    found = judged(truth, wrong, noise)
    assert found.status == MISMATCH
    assert "elements 4 to 11 of axis -2" in found.reason and "times smaller: E 1" in found.reason
    assert found.numbers["needed"] > 10
    without = judged(truth, wrong, Noise(noise.E, noise.M, noise.runs))
    assert without.status == AGREE, "the whole alone does not show it"


def test_one_score_that_is_far_off_is_a_mismatch_by_m_alone() -> None:
    truth = detector()
    noise = measure_noise(truth, [rounded(truth, 1e-7)])
    wrong = truth.copy()
    wrong[0, 7, 3] += 4e-5
    found = judged(truth, wrong, noise, "fp32")
    (row,) = found.numbers["outputs"][0]["parts"]
    assert found.status == MISMATCH and row["E"] < row["tolerance_E"]


@pytest.mark.parametrize(("factor", "status"), [(1.0, AGREE), (20.0, MISMATCH)])
def test_a_part_whose_noise_is_beyond_the_cap_excuses_itself_and_not_the_whole(factor: float, status: str) -> None:
    truth = detector()
    noisy = rounded(truth, 1e-7)
    noisy[:, SCORES] *= 1.01
    noise = measure_noise(truth, [noisy])
    actual = rounded(truth, 1e-7)
    actual[:, SCORES] *= 1 + 0.01 * factor
    assert judged(truth, actual, noise, "fp32").status == status


def test_a_wrong_part_of_an_ill_conditioned_output_is_a_mismatch() -> None:
    truth = detector()
    noisy = rounded(truth, 1e-6)
    noisy[:, :4] *= 1.3
    noise = measure_noise(truth, [noisy])
    right = noisy.copy()
    assert judged(truth, right, noise).status == UNVERIFIED
    right[:, SCORES] = right[:, SCORES][:, ::-1]
    assert judged(truth, right, noise).status == MISMATCH


def test_mistakes_in_a_part_are_noticed_by_the_rule_of_the_comparison() -> None:
    truth = detector()
    noise = measure_noise(truth, [rounded(truth, 2**-8)])
    actual = rounded(truth, 2**-8)
    mutant = truth.copy()
    mutant[:, SCORES] *= 1.2
    for level, killed in ((noise, True), (Noise(noise.E, noise.M, noise.runs), False)):
        comparison = judged(truth, actual, level)
        assert comparison.rule is not None
        found = strength(comparison.rule, {"out0": actual}, {"out0": truth}, {"bias dropped": {"out0": mutant}}, {})
        assert found.table["bias dropped"]["killed"] is killed
        assert (float(found.table["bias dropped"]["ratio"]) > 1) is killed


def test_the_larger_noise_of_a_part_counts() -> None:
    truth = detector()
    small, large = measure_noise(truth, [rounded(truth, 1e-6)]), measure_noise(truth, [rounded(truth, 1e-3)])
    both = larger({"y": small}, {"y": large, "z": small})
    (part,) = small.parts
    assert both["y"].parts[part].E == large.parts[part].E > small.parts[part].E
    assert both["y"].parts[part].runs == 2
    assert both["z"].parts == small.parts


def test_the_noise_of_a_part_is_found_in_the_runs_of_another_file() -> None:
    """A file with rounded weights has the parts of the file as it is, a little more or less smaller."""
    truth, other = detector(), detector(smaller=500.0)
    (part,) = parts_of(truth)
    found = measure_noise(other, [rounded(other, 1e-4)], [part])
    assert list(found.parts) == [part] and found.parts[part].E > 1e-5
    assert measure_noise(other, [rounded(other, 1e-4)], []).parts == {}
    both = larger({"y": measure_noise(truth, [rounded(truth, 1e-6)])}, {"y": measure_noise(other, [other])})
    assert len(both["y"].parts) == 1, "how many times smaller a part is does not tell it from another"


def test_a_run_of_fewer_inputs_is_measured_and_judged_by_the_parts_of_all() -> None:
    truth = detector()
    noise = measure_noise(truth, [rounded(truth, 1e-6)[:4]])
    (part,) = noise.parts
    assert noise.parts[part].runs == 1
    comparison = judged(truth, rounded(truth, 1e-6), noise, "fp32")
    assert comparison.rule is not None
    assert comparison.rule.judge({"out0": rounded(truth, 1e-6)[:3]}).status == AGREE
    wrong = truth[:3].copy()
    wrong[:, SCORES] *= 1.001
    assert comparison.rule.judge({"out0": wrong}).status == MISMATCH
