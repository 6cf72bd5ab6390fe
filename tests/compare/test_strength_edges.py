"""Mutants at the edges: several outputs, integers, wrong shapes, what is not finite, and how they are built."""

from __future__ import annotations

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest

from bench_plugin.compare.noise import Noise
from bench_plugin.compare.strength import rated, strength, with_faults
from bench_plugin.compare.table import DEFAULTS, with_overrides
from bench_plugin.compare.verdict import Rule, compare
from tests.compare.drawing import Array, alike_first, drawn

NOISE = Noise(1e-6, 4e-6, 3)
DETAIL = "batchnorm eps 1e-3"


def rule_for(truth: dict[str, Array], **options: Any) -> Rule:
    rule = compare(truth, truth, dict.fromkeys(truth, NOISE), **options).rule
    assert rule is not None
    return rule


def noticeable(truth: dict[str, Array], mutant: dict[str, Array], noise: dict[str, Noise] | None = None) -> bool:
    """Whether a mutant of a detail is taken for one that could be noticed; the file gives the truth itself."""
    level = dict.fromkeys(truth, NOISE) if noise is None else noise
    found = strength(rule_for(truth), truth, truth, {DETAIL: mutant}, level)
    return bool(found.table[DETAIL]["noticeable"])


def test_the_two_mutants_that_need_no_file() -> None:
    truth = {"y": np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 1.0]]), "n": np.arange(3), "e": np.zeros((3, 0)),
             "i": np.array([[np.inf], [1.0], [2.0]]), "s": np.array([[4.0]] * 3)[:, :1]}  # fmt: skip
    found = with_faults(truth, {}, {}, {})
    assert list(found) == ["mean output", "rows permuted"]
    mean, rolled = found["mean output"], found["rows permuted"]
    assert mean["y"].tolist() == [[3.0, 3.0]] * 3
    assert mean["n"] is truth["n"] and mean["e"] is truth["e"] and mean["i"] is truth["i"]
    assert rolled["y"].tolist() == [[5.0, 1.0], [1.0, 2.0], [3.0, 6.0]] and rolled["n"].tolist() == [2, 0, 1]
    one = with_faults({"y": np.array([2.0])}, {}, {}, {})["mean output"]["y"]
    assert one.tolist() == [2.0] and not one.flags.writeable  # a mean and not the array itself


def test_the_runs_with_mistakes_are_not_held_in_memory_all_at_once() -> None:
    truth = {"y": np.random.default_rng(0).normal(size=(4, 50_000))}  # 1.6 MB
    mutants = {f"bias dropped {number}": truth for number in range(20)}
    tracemalloc.start()
    try:
        found = strength(rule_for(truth), truth, truth, mutants, {"y": NOISE})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found.table) == 22 and peak < 12 * truth["y"].nbytes, peak


def test_a_mutant_is_the_run_with_the_effect_of_the_mistake() -> None:
    run = {"a": np.float32([[1.0], [2.0]]), "n": np.array([1, 2]), "b": np.float32([[5.0], [6.0]])}
    before = {"x": np.float32([[0.5], [2.5]]), "m": np.array([1, 2]), "z": np.float32([[5.5], [6.5]])}
    after = {"x": np.float32([[0.75], [2.0]]), "m": np.array([7, 2]), "z": np.float32([[5.5], [6.0]])}
    found = with_faults({}, run, before, {"m": after})["m"]
    assert found["a"].tolist() == [[1.25], [1.5]] and found["b"].tolist() == [[5.0], [5.5]]
    assert found["n"].tolist() == [7, 2] and found["a"].dtype == np.float64
    shapes = with_faults({}, run, before, {"m": {**after, "x": np.float32([[9.0]])}})["m"]
    assert shapes["a"].tolist() == [[9.0]]
    mixed = with_faults({}, {"a": run["a"]}, {"x": np.array([[1], [2]])}, {"m": {"x": np.array([[3], [4]])}})["m"]
    assert mixed["a"].tolist() == [[3], [4]]
    fewer = with_faults({}, run, before, {"m": {"x": after["x"]}})["m"]
    assert list(fewer) == ["a"]


def test_the_effect_is_computed_in_double_precision_and_in_silence() -> None:
    run, before = {"y": np.float16([[1.0]])}, {"y": np.float16([[6e4]])}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = with_faults({}, run, before, {"m": {"y": np.float16([[-6e4]])}})["m"]["y"]
        endless = with_faults({}, run, {"y": np.array([[np.inf]])}, {"m": {"y": np.array([[np.inf]])}})["m"]["y"]
        large = {"y": np.array([[1e308]])}
        over = with_faults({}, large, {"y": np.array([[-1e308]])}, {"m": large})["m"]["y"]
    assert found.tolist() == [[1.0 - 120000.0]] and np.isnan(endless).all() and np.isinf(over).all()
    tiny = with_faults({}, {"y": np.float32([[1.0]])}, {"y": np.float32([[0.0]])}, {"m": {"y": np.float32([[1e-9]])}})
    assert tiny["m"]["y"][0, 0] == 1.0 + float(np.float32(1e-9))


def test_what_could_be_noticed() -> None:
    truth = {"y": drawn(1), "n": np.arange(8), "z": drawn(2)}
    assert not noticeable(truth, truth)
    assert noticeable(truth, truth | {"y": drawn(1)[:, :3]})
    assert noticeable(truth, truth | {"y": drawn(1) * np.nan})
    assert noticeable(truth, truth | {"n": np.roll(truth["n"], 1)})
    assert noticeable(truth, truth | {"z": drawn(3)}), "an output after one of integers"
    assert not noticeable(truth, {"y": drawn(1)}), "an output that the mutant does not have is not looked at"
    assert noticeable(truth, truth | {"y": drawn(1) + 1e-12}, {}), "an output without noise"
    assert not noticeable(truth, truth, {})


def test_what_is_exactly_at_the_noise_of_float32_is_not_noticeable() -> None:
    truth = {"y": np.array([[2.0, -2.0], [-2.0, 2.0]])}  # a scale of 4 and 2
    mutant = {"y": np.array([[2.5, -2.0], [-2.0, 2.0]])}  # E 1/8, M 1/4
    assert not noticeable(truth, mutant, {"y": Noise(0.125, 0.25, 1)})
    assert noticeable(truth, mutant, {"y": Noise(0.1249, 0.25, 1)})
    assert noticeable(truth, mutant, {"y": Noise(0.125, 0.2499, 1)})


def test_without_mutants_the_strength_is_that_of_no_input() -> None:
    found = strength(rule_for({"y": drawn(1)}), {"y": drawn(1)}, {}, {}, {})
    assert list(found.table) == ["mean output", "rows permuted"] and found.share == 0.0


def test_what_a_mutant_does_not_change_and_the_limits_go_to_the_strength() -> None:
    truth = {"y": drawn(1)}
    rule = rule_for(truth, table=with_overrides(k=20))
    found = strength(rule, truth, truth, {}, {}, unchanged=["argmax ties"])
    assert found.unchanged == ("argmax ties",) and found.limits == rule.table != DEFAULTS


def test_the_ratio_of_a_comparison_without_figures() -> None:
    labels = {"n": np.arange(8)}
    found = strength(rule_for(labels), labels, labels, {"same": labels, "other": {"n": np.arange(8) + 1}}, {})
    assert (found.table["same"]["ratio"], found.table["same"]["killed"]) == (0.0, False)
    assert (found.table["other"]["ratio"], found.table["other"]["killed"]) == (pytest.approx(1e5), True)
    missing = strength(rule_for({"y": drawn(1)}), {}, {"y": drawn(1)}, {"gone": {}}, {})
    assert missing.table["gone"] == {"kind": "layer", "killed": True, "ratio": 1e9, "noticeable": False}


def test_what_would_not_be_noticed_is_named_with_its_distance() -> None:
    rows = {
        name: {"killed": False, "ratio": ratio} for name, ratio in (("mean output", 0.983), ("rows permuted", 0.031))
    }
    assert rated(rows, exact=True).reason == (
        "not sensitive: this comparison would not notice mean output (0.98 tolerances off), "
        "rows permuted (0.031 tolerances off)"
    )


@pytest.mark.parametrize("exact", [True, False])
def test_the_limits_of_a_strength_are_those_it_was_given(exact: bool) -> None:
    table = with_overrides(k=3)
    assert rated({}, exact=exact, table=table).limits is table and rated({}, exact=exact).limits is DEFAULTS


def test_the_usual_integer_stands_for_the_mean_where_there_is_nothing_else() -> None:
    labels = np.array([[1, 2], [1, 3], [1, 2]])
    mean = with_faults({"labels": labels}, {}, {}, {})["mean output"]
    assert mean["labels"].tolist() == [[1, 1]] * 3
    mean = with_faults({"labels": labels, "scores": np.array([[0.0], [1.0], [2.0]])}, {}, {}, {})["mean output"]
    assert mean["labels"] is labels and mean["scores"].tolist() == [[1.0]] * 3


def test_what_is_noticeable_in_the_first_inputs_is_so_in_units_of_all() -> None:
    truth = alike_first(4)
    level = {"y": Noise(1e-3, 1e-2, 1)}
    for size, seen in ((3e-4, False), (3e-3, True)):
        mutant = {"y": truth[:4] + size * drawn(2, truth.shape)[:4]}
        first = {"y": truth[:4]}
        found = strength(rule_for({"y": truth}), first, first, {DETAIL: mutant}, level)
        assert found.table[DETAIL]["noticeable"] is seen
