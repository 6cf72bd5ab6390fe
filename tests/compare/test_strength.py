"""What a comparison would notice, and the gate on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bench_plugin.compare.noise import Noise
from bench_plugin.compare.strength import Strength, rated, strength
from bench_plugin.compare.table import MUTANT_KINDS, Kind, kind_of, with_overrides
from bench_plugin.compare.verdict import AGREE, Comparison, compare
from tests.compare.drawing import LAW, SEEDS, Array, drawn

NOISE = Noise(E=1e-6, M=4e-6, runs=3)
TOLERANCE = 1e-5  # of fp32 on E


def off_by(truth: Array, e: float, seed: int = 99) -> Array:
    """The truth with an error of exactly this E, of one size and random sign."""
    centred = truth - truth.mean(axis=0)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], truth.shape)
    moved: Array = truth + signs * e * np.sqrt((centred**2).mean())
    return moved


def measured(
    truth: Array, mutants: Mapping[str, Array], *, actual: Array | None = None, noise: Noise = NOISE, **options: Any
) -> Strength:
    ran = truth if actual is None else actual
    found = compare({"y": truth}, {"out0": ran}, {"y": noise}, **options)
    assert found.status == AGREE and found.rule is not None
    outputs = {name: {"out0": y} for name, y in mutants.items()}
    first = min((len(y) for y in mutants.values()), default=len(truth))
    return strength(found.rule, {"out0": ran}, {"out0": truth[:first]}, outputs, {"y": NOISE})


@LAW
@given(SEEDS)
def test_a_varied_truth_with_visible_mutants_is_strong(seed: int) -> None:
    truth = drawn(seed)
    found = measured(truth, {"bias dropped": truth + 1})
    assert (found.reason, found.weak, found.share, found.missed) == ("", "", 1.0, ())
    assert list(found.table) == ["mean output", "rows permuted", "bias dropped"]
    assert all(row["killed"] and row["ratio"] > 1 for row in found.table.values())
    assert found.numbers["strength"] == 1.0 and found.numbers["mutants_applicable"] == 3


@LAW
@given(SEEDS, st.sampled_from(["fp32", "fp16", "bf16"]), st.floats(0.05, 8).filter(lambda share: abs(share - 1) > 1e-3))
def test_a_mutant_is_killed_where_the_comparison_would_be_a_mismatch(seed: int, precision: str, share: float) -> None:
    truth, noise = drawn(seed), Noise(1e-2, 4e-2, 1) if precision != "fp32" else NOISE
    limit = {"fp32": TOLERANCE, "fp16": 3e-2, "bf16": 3e-2}[precision]
    mutant = off_by(truth, share * limit, seed)
    found = measured(truth, {"bias dropped": mutant}, noise=noise, precision=precision)
    said = compare({"y": truth}, {"y": mutant}, {"y": noise}, precision=precision).status != AGREE
    assume(abs(share * limit / NOISE.E - 1) > 1e-6)
    recognised = share * limit > NOISE.E  # in a run without an error of its own
    assert found.table["bias dropped"]["killed"] is (said or recognised)
    assert found.table["bias dropped"]["ratio"] == pytest.approx(share, rel=1e-6)


def test_the_error_of_the_run_itself_is_part_of_what_is_judged() -> None:
    truth = drawn(1)
    mutant = off_by(truth, 0.9 * TOLERANCE, 5)
    assert measured(truth, {"bias dropped": mutant}, actual=off_by(truth, 0.4 * TOLERANCE, 6)).missed == (
        "bias dropped",
    )
    assert measured(truth, {"bias dropped": mutant}, actual=off_by(truth, 0.9 * TOLERANCE, 6)).missed == ()


def test_fast_math_makes_a_comparison_less_sharp() -> None:
    truth = drawn(1)
    mutant = {"bias dropped": off_by(truth, 5 * TOLERANCE)}
    assert measured(truth, mutant).missed == measured(truth, mutant, loose=True).missed == ()
    other = off_by(truth, 4 * TOLERANCE, 6)
    assert measured(truth, mutant, actual=other, loose=True).missed == ("bias dropped",)


def test_the_tolerances_of_the_test_are_those_of_its_mutants() -> None:
    truth = drawn(1)
    mutant = {"bias dropped": off_by(truth, 5 * TOLERANCE)}
    other = off_by(truth, 4 * TOLERANCE, 6)
    assert measured(truth, mutant, actual=other, table=with_overrides(k=100)).missed == ("bias dropped",)


def test_mutants_of_fewer_inputs_are_judged_on_those() -> None:
    truth = drawn(1)
    found = measured(truth, {"bias dropped": truth[:3] + 1})
    assert found.table["bias dropped"]["killed"] and found.table["rows permuted"]["killed"]


def test_a_single_large_error_kills_by_m_alone() -> None:
    truth = drawn(1, (8, 5000))
    mutant = truth.copy()
    mutant[3, 7] += 1e-3
    assert measured(truth, {"bias dropped": mutant}).missed == ()


@pytest.mark.parametrize("broken", [np.full((8, 12), np.nan), np.zeros((8, 11)), np.full((8, 12), np.inf)])
def test_a_mutant_that_breaks_the_output_is_noticed(broken: Array) -> None:
    found = measured(drawn(1), {"broken": broken})
    assert found.table["broken"]["killed"] and found.table["broken"]["ratio"] == 1e9


def test_of_integers_every_difference_is_noticed() -> None:
    truth = {"y": drawn(1), "labels": np.arange(8) % 3}
    noise = {"y": NOISE}
    rule = compare(truth, truth, noise).rule
    assert rule is not None
    other = {"out0": truth["y"], "out1": np.roll(truth["labels"], 1)}
    original = {"out0": truth["y"], "out1": truth["labels"]}
    found = strength(rule, truth, original, {"argmax ties": other, "bias dropped": original}, noise)
    assert found.table["argmax ties"]["killed"] and found.table["argmax ties"]["noticeable"]
    assert found.missed == ("bias dropped",)


def test_what_changes_no_output_beyond_the_noise_of_float32_is_not_noticeable() -> None:
    truth = drawn(1)
    faint = off_by(truth, 0.5e-6)
    found = measured(truth, {"batchnorm eps 1e-3": faint, "bias in float16": faint})
    assert found.unnoticeable == ("batchnorm eps 1e-3", "bias in float16")
    assert (found.missed, found.applicable, found.reason) == ((), 2, "")
    seen = measured(truth, {"batchnorm eps 1e-3": off_by(truth, 2e-6)}, actual=off_by(truth, 2e-6, 6))
    assert (seen.unnoticeable, seen.missed) == ((), ("batchnorm eps 1e-3",))


@pytest.mark.parametrize("name", ["residual branch zeroed", "bias dropped"])
def test_a_layer_or_a_block_without_any_effect_is_missed_not_excused(name: str) -> None:
    found = measured(drawn(1), {name: off_by(drawn(1), 1e-8)})
    assert found.missed == (name,) and found.unnoticeable == ()
    assert found.reason.startswith(f"not sensitive: this comparison would not notice {name}")


def rows(**killed: bool) -> dict[str, dict[str, Any]]:
    return {name.replace("_", " "): {"killed": value, "ratio": 2.0 * value} for name, value in killed.items()}


@pytest.mark.parametrize("exact", [True, False])
def test_a_mistake_in_the_structure_must_be_noticed_at_every_precision(exact: bool) -> None:
    many = rows(mean_output=True, a=True, b=True, c=True, d=True, residual_branch_zeroed=False)
    assert "residual branch zeroed" in rated(many, exact=exact).reason
    many["residual branch zeroed"]["killed"] = True
    assert rated(many, exact=exact).reason == ""


def test_at_fp32_all_but_roundings_must_be_noticed() -> None:
    for name in ("bias dropped", "batchnorm eps 1e-3"):
        found = rated(
            {**rows(a=True, b=True, c=True, d=True, e=True), name: {"killed": False, "ratio": 0.5}}, exact=True
        )
        assert name in found.reason
    some = {**rows(a=True, b=True, c=True, d=True), "bias in float16": {"killed": False, "ratio": 0.5}}
    found = rated(some, exact=True)
    assert (found.reason, found.weak, found.share) == ("", "", 0.8)


def test_below_fp32_half_of_the_mutants_must_be_noticed_and_under_80_percent_is_weak() -> None:
    for noticed, weak, enough in (
        (10, False, True),
        (8, False, True),
        (7, True, True),
        (5, True, True),
        (4, True, False),
    ):
        found = rated(rows(**{f"m{i}": i < noticed for i in range(10)}), exact=False)
        assert bool(found.weak) is weak, noticed
        assert (found.reason == "") is enough, noticed
    assert found.reason.startswith("not sensitive: this comparison notices 4 of 10 mutants, not m4, m5")
    weak_one = rated(rows(a=True, b=True, c=False), exact=False)
    assert weak_one.weak == "weak: 2 of 3 mutants noticed, c would pass"


def test_mutants_that_change_nothing_are_named_and_do_not_count() -> None:
    found = rated(rows(a=True), unchanged=["argmax ties"], exact=True)
    assert (found.share, found.unchanged) == (1.0, ("argmax ties",))
    assert found.numbers["mutants_unchanged"] == ["argmax ties"] and found.unexercised == ""


def test_a_part_of_the_structure_that_changes_nothing_is_named_and_does_not_refuse_the_verdict() -> None:
    parts = ["parallel branch zeroed at Concat joined, input 2", "input ignored at mask"]
    found = rated(rows(a=True), unchanged=["argmax ties at ArgMax y", *parts], exact=True)
    assert found.unexercised == f"not exercised by these inputs: {', '.join(parts)}"
    assert (found.reason, found.share) == ("", 1.0)


def test_the_reason_says_where_the_mistake_was_made() -> None:
    many = rows(a=True, b=True, input_ignored=False)
    many["input ignored"] |= {"site": "mask", "ratio": 0.25}
    assert rated(many, exact=False).reason == (
        "not sensitive: this comparison would not notice input ignored at mask (0.25 tolerances off)"
    )


def test_a_run_that_has_the_mistake_already_does_not_make_it_noticed() -> None:
    truth = drawn(3)
    mutant = off_by(truth, 0.7 * TOLERANCE)
    found = measured(truth, {"residual branch zeroed": mutant}, actual=mutant)
    assert not found.table["residual branch zeroed"]["killed"] and found.reason
    assert "'residual branch zeroed'" in found.made, "it is the run that is wrong"
    noticed = measured(truth, {"residual branch zeroed": off_by(truth, 1.4 * TOLERANCE)})
    assert noticed.table["residual branch zeroed"]["killed"] and not noticed.reason and not noticed.made


def test_nothing_to_rate_has_no_strength() -> None:
    found = rated({}, exact=False)
    assert (found.share, found.weak) == (None, "")


def test_the_kinds_of_mutants() -> None:
    assert {kind_of(name) for name in ("mean output", "rows permuted", "residual branch zeroed")} == {Kind.STRUCTURE}
    assert kind_of("weights x 1.01") is Kind.LAYER and kind_of("weights x 1.01 at Conv c") is Kind.LAYER
    assert kind_of("input ignored at x") is kind_of("input ignored") is Kind.STRUCTURE
    assert MUTANT_KINDS["bias in float16"] is Kind.ROUNDING
    assert rated(rows(a=True), exact=True).table["a"]["kind"] == "layer"


def test_a_rule_judges_as_the_comparison_did() -> None:
    truth, noise = drawn(1), {"y": NOISE}
    for loose in (False, True):
        found = compare({"y": truth}, {"y": truth}, noise, loose=loose)
        assert found.rule is not None
        other = {"y": off_by(truth, 5 * TOLERANCE)}
        assert found.rule.judge(other).status == compare({"y": truth}, other, noise, loose=loose).status


def test_a_comparison_that_could_not_be_made_has_no_strength() -> None:
    assert Comparison(AGREE).rule is None
