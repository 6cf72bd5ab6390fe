"""The noise of a precision, the tolerance that follows from it, and the table that both read."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_plugin.compare.noise import Noise, larger, measure_noise, tolerance
from bench_plugin.compare.table import (
    DEFAULTS,
    MUTANT_KINDS,
    TABLE_HASH,
    DetectionRow,
    Kind,
    Row,
    kind_of,
    with_overrides,
)
from tests.compare.drawing import LAW, Array, alike_first, drawn

LEVELS = st.floats(0, 1)
NUMBERS_MD = Path(__file__).parents[2] / "docs" / "numbers.md"


def test_the_worst_run_is_the_noise() -> None:
    truth = drawn(0)
    small, large = truth + 1e-6 * drawn(1), truth + 1e-4 * drawn(2)
    both = measure_noise(truth, [small, large])
    assert both.runs == 2
    assert (both.E, both.M) == (measure_noise(truth, [large]).E, measure_noise(truth, [large]).M)
    assert both.E > 10 * measure_noise(truth, [small]).E > 0
    assert both == measure_noise(truth, iter([large, small]))


def test_an_exact_run_has_no_noise_but_counts() -> None:
    assert measure_noise(drawn(0), [drawn(0)]) == Noise(0, 0, 1)


def test_single_precision_has_single_precision_noise() -> None:
    truth = drawn(0)
    assert 1e-9 < measure_noise(truth, [truth.astype(np.float32)]).E < 2.0**-23


@pytest.mark.parametrize("count", [1, 2, 4, 15])
def test_the_first_inputs_have_the_noise_of_all_where_they_change_less(count: int) -> None:
    truth, error = alike_first(count), 1e-4 * drawn(2, (16, 1000))
    every, first = measure_noise(truth, [truth + error]), measure_noise(truth, [(truth + error)[:count]])
    assert pytest.approx(every.E, rel=0.1) == first.E
    assert pytest.approx(every.M, rel=0.3) == first.M


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_the_first_inputs_have_the_noise_of_all_where_their_results_are_of_another_size(size: float) -> None:
    truth = drawn(0, (16, 1000))
    truth[:4] *= size
    run = truth * (1 + 1e-4 * drawn(2, (16, 1000)))
    assert pytest.approx(measure_noise(truth, [run]).E, rel=0.1) == measure_noise(truth, [run[:4]]).E


def test_first_results_of_nothing_but_zeros_have_the_noise_of_an_error_without_bound() -> None:
    truth = drawn(0)
    truth[:4] = 0
    assert math.inf == measure_noise(truth, [truth[:4] + 1e-6]).E
    assert measure_noise(truth, [truth[:4]]).E == 0


@pytest.mark.parametrize("run", [np.zeros((0, 12)), np.zeros((9, 12)), np.zeros((8, 11)), np.full((8, 12), np.nan)])
def test_what_cannot_be_measured_is_no_run(run: Array) -> None:
    assert measure_noise(drawn(0), [run]) == Noise(0, 0, 0)
    assert measure_noise(drawn(0), [run, drawn(0)]).runs == 1


@pytest.mark.parametrize(
    "truth", [np.array(["cat", "dog"]), np.array([[1.0], [np.inf]]), np.zeros((0, 12)), np.zeros((8, 0))]
)
def test_what_is_exact_empty_or_infinite_has_no_noise(truth: Array) -> None:
    assert measure_noise(truth, [truth]) == Noise(0, 0, 0)


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.bool_])
def test_the_noise_of_integers_is_the_largest_share_that_differs(kind: Any) -> None:
    truth = np.zeros((4, 5), kind)
    one, three, short = truth.copy(), truth.copy(), truth[:2].copy()
    one[0, 0] = three[1, :3] = short[0, 0] = 1
    assert measure_noise(truth, [truth]) == Noise(0, 0, 1)
    assert measure_noise(truth, [one, three]) == Noise(0.15, 0, 2)
    assert measure_noise(truth, [short]) == Noise(0.1, 0, 1)
    assert measure_noise(truth, [one[:, :4], truth[:0]]) == Noise(0, 0, 0)


def test_the_noise_of_two_kinds_of_runs_is_the_larger_of_each() -> None:
    found = larger({"a": Noise(1, 4, 3), "b": Noise(1, 1, 1)}, {"a": Noise(2, 3, 1), "c": Noise(5, 6, 2)})
    assert found == {"a": Noise(2, 4, 4), "b": Noise(1, 1, 1), "c": Noise(5, 6, 2)}


@LAW
@given(LEVELS, LEVELS)
def test_tolerances_follow_the_formula(e: float, m: float) -> None:
    row = Row(k=10, floor=4e-6, cap=1e-3)
    limit = tolerance(Noise(e, m, 3), row)
    assert (min(1e-3, max(10 * e, 4e-6)), max(20 * m, 32e-6)) == (limit.E, limit.M)
    assert limit.ill_conditioned == (10 * e > 1e-3)


@LAW
@given(LEVELS, LEVELS, st.sampled_from(sorted(DEFAULTS.rows)))
def test_more_noise_never_tightens(e: float, more: float, precision: str) -> None:
    row = DEFAULTS.row(precision)
    low, high = tolerance(Noise(e, e, 1), row), tolerance(Noise(e + more, e + more, 1), row)
    assert row.floor <= low.E <= high.E <= row.cap
    assert 8 * row.floor <= low.M <= high.M
    assert high.ill_conditioned or not low.ill_conditioned


def test_fast_math_loosens_fp32_only() -> None:
    assert DEFAULTS.row("fp32", loose=True) == DEFAULTS.row("fp32-loose") != DEFAULTS.row("fp32")
    assert DEFAULTS.row("bf16", loose=True) == DEFAULTS.row("bf16")
    with pytest.raises(KeyError):
        DEFAULTS.row("fp8")


def test_overrides_reach_every_row_and_nothing_else() -> None:
    table = with_overrides(k=7, cap=0.5)
    assert {precision: (row.k, row.cap) for precision, row in table.rows.items()} == dict.fromkeys(
        DEFAULTS.rows, (7, 0.5)
    )
    assert {precision: row.floor for precision, row in table.rows.items()} == {
        precision: row.floor for precision, row in DEFAULTS.rows.items()
    }
    assert dataclasses.replace(table, rows=DEFAULTS.rows, alike=DEFAULTS.alike) == DEFAULTS
    assert table.alike > 1, "no cosine is as large: no mistake is recognised"
    assert with_overrides() == DEFAULTS


@pytest.mark.parametrize("value", [0, -1, 0.0, math.nan, math.inf, True, "3", None, [1]])
def test_overrides_are_positive_numbers(value: Any) -> None:
    with pytest.raises(ValueError, match=r"marker tolerance: floor must be a positive number, found "):
        with_overrides(floor=value)


def test_overrides_have_known_names() -> None:
    with pytest.raises(ValueError, match=r"marker tolerance: unknown name 'atol'; valid are k, floor, cap"):
        with_overrides(atol=1e-3)


def test_the_table_cannot_be_changed_by_accident() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        DEFAULTS.row("fp32").k = 100  # type: ignore[misc]
    assert re.fullmatch("[0-9a-f]{64}", TABLE_HASH)


def rows_of(heading: str) -> dict[str, list[str]]:
    """The first table below a heading of docs/numbers.md: first column to the other cells."""
    section = NUMBERS_MD.read_text(encoding="utf-8").split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line.strip().strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    cells = [[cell.strip().strip("`") for cell in line] for line in lines]
    return {cell[0]: cell[1:] for cell in cells[2:]}


def test_the_document_states_the_rows_of_the_table() -> None:
    stated = {name: Row(*map(float, cells[:3])) for name, cells in rows_of("The table").items()}
    assert stated == DEFAULTS.rows


def test_the_document_states_the_rows_of_detections() -> None:
    stated = {name: DetectionRow(*map(float, cells)) for name, cells in rows_of("Detections").items()}
    assert stated == DEFAULTS.detections


def test_the_document_states_the_thresholds() -> None:
    stated = {name: float(cells[0]) for name, cells in rows_of("Thresholds").items()}
    plain = {key: value for key, value in dataclasses.asdict(DEFAULTS).items() if isinstance(value, int | float)}
    assert stated == plain


def test_a_tolerance_by_hand() -> None:
    row = Row(k=10, floor=4e-6, cap=1e-3)
    found = tolerance(Noise(2e-5, 3e-5, 3), row)
    assert (found.E, found.M, found.reach) == (pytest.approx(2e-4), pytest.approx(6e-4), pytest.approx(2e-4))
    assert (found.ill_conditioned, found.unreachable) == (False, "")
    assert tolerance(Noise(0.25, 0.0, 1), Row(k=4, floor=1e-3, cap=1.0)).ill_conditioned is False, "at the cap"
    assert tolerance(Noise(0.2501, 0.0, 1), Row(k=4, floor=1e-3, cap=1.0)).ill_conditioned is True


def test_fast_math_makes_no_model_ill_conditioned() -> None:
    strict, loose = Row(k=10, floor=4e-6, cap=1e-3), Row(k=100, floor=4e-6, cap=1e-3)
    found = tolerance(Noise(5e-5, 5e-5, 3), loose, strict)
    assert (found.ill_conditioned, found.E, found.reach) == (False, 1e-3, pytest.approx(5e-3))
    assert tolerance(Noise(5e-5, 5e-5, 3), loose).ill_conditioned


def test_a_cap_is_out_of_reach_only_where_a_user_tightened_it() -> None:
    usual, tight = Row(k=10, floor=4e-6, cap=1e-3), Row(k=10, floor=4e-6, cap=1e-4)
    noise = Noise(5e-5, 5e-5, 3)
    assert tolerance(noise, tight, None, usual).unreachable == (
        "the cap 1.0e-04 of this test's tolerance is tighter than the model's own noise allows: "
        "10 x noise 5.0e-05 = 5.0e-04; raise the cap"
    )
    assert tolerance(noise, tight, tight, tight).unreachable == ""
    assert tolerance(noise, tight).unreachable == ""
    assert tolerance(Noise(1e-6, 1e-6, 3), tight, None, usual).unreachable == ""
    assert tolerance(Noise(5e-3, 1e-6, 3), usual, None, usual).unreachable == ""


def test_the_worst_of_each_distance_is_the_noise() -> None:
    truth = np.array([[2.0, -2.0], [-2.0, 2.0]])
    one, other = truth.copy(), truth + 0.25
    one[0, 0] += 0.4
    found = measure_noise(truth, [one, other])
    assert (found.E, found.M, found.runs) == (pytest.approx(0.125), pytest.approx(0.2), 2)
    assert measure_noise(truth, [other, one]) == found


def test_two_inputs_are_measured_in_units_of_all_in_proportion_to_their_size() -> None:
    truth = np.array([[1.0], [-1.0], [50.0], [-50.0]])
    assert pytest.approx(0.5) == measure_noise(truth, [truth[:2] + 0.5]).E
    assert pytest.approx(0.5) == measure_noise(truth, [truth[:1] + 0.5]).M


def test_the_table_of_fast_math_is_that_of_fp32() -> None:
    assert DEFAULTS.row("fp32") == Row(10, 4e-6, 1e-3) == DEFAULTS.rows["fp32"]
    assert DEFAULTS.row("fp16", loose=True) is DEFAULTS.rows["fp16"]
    assert with_overrides(floor=1.0).row("bf16") == Row(3, 1.0, 0.2)


def test_the_kinds_of_mutants_are_those_of_the_document() -> None:
    named = {kind: {name for name, one in MUTANT_KINDS.items() if one is kind} for kind in Kind}
    assert named == {
        Kind.STRUCTURE: {
            "mean output",
            "rows permuted",
            "nhwc read as nchw",
            "residual branch zeroed",
            "parallel branch zeroed",
            "branch of If replaced",
            "input ignored",
        },
        Kind.DETAIL: {
            "batchnorm eps 1e-3",
            "layernorm eps 1e-3",
            "batchnorm eps 1e-5",
            "layernorm eps 1e-5",
            "gelu erf or tanh",
            "argmax ties",
            "tree < or <=",
        },
        Kind.ROUNDING: {
            "bias in float16",
            "last layer in float16",
            "batchnorm eps 1e-10",
            "layernorm eps 1e-10",
        },
        Kind.LAYER: set(),
    }
    assert kind_of("anything else") is Kind.LAYER and [str(kind) for kind in Kind] == [
        "structure", "layer", "detail", "rounding",
    ]  # fmt: skip
