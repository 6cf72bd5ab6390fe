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

from bench_plugin.compare.noise import Noise, measure_noise, tolerance
from bench_plugin.compare.table import DEFAULTS, TABLE_HASH, DetectionRow, Row, with_overrides
from tests.compare.drawing import LAW, Array, drawn

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


def test_a_short_run_is_measured_on_its_own_inputs() -> None:
    truth, error = drawn(0), 1e-4 * drawn(1)
    assert measure_noise(truth, [(truth + error)[:4]]) == measure_noise(truth[:4], [(truth + error)[:4]])


def test_a_run_of_one_input_is_measured_by_the_whole_truth() -> None:
    truth = drawn(0)
    noise = measure_noise(truth, [truth[:1] + 1e-4])
    assert noise.runs == 1
    assert 0 < noise.E < 1e-3


@pytest.mark.parametrize("run", [np.zeros((0, 12)), np.zeros((9, 12)), np.zeros((8, 11)), np.full((8, 12), np.nan)])
def test_what_cannot_be_measured_is_no_run(run: Array) -> None:
    assert measure_noise(drawn(0), [run]) == Noise(0, 0, 0)
    assert measure_noise(drawn(0), [run, drawn(0)]).runs == 1


@pytest.mark.parametrize(
    "truth", [np.array(["cat", "dog"]), np.arange(8), np.array([[1.0], [np.inf]]), np.zeros((0, 12)), np.zeros((8, 0))]
)
def test_what_is_exact_empty_or_infinite_has_no_noise(truth: Array) -> None:
    assert measure_noise(truth, [truth]) == Noise(0, 0, 0)


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
    assert dataclasses.replace(table, rows=DEFAULTS.rows) == DEFAULTS
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
