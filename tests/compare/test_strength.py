"""Models that could show an error, and models that could not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from bench_plugin.compare.discriminate import discriminate
from bench_plugin.compare.noise import Tolerance
from bench_plugin.compare.table import with_overrides
from tests.compare.drawing import LAW, SEEDS, Array, drawn

LIMIT = Tolerance(E=1e-4, M=1e-3, ill_conditioned=False)


def off_by(truth: Array, e: float) -> Array:
    """The truth with an error of exactly this E."""
    centred = truth - truth.mean(axis=0)
    error = drawn(99, truth.shape)
    scaled: Array = truth + error * (e * np.linalg.norm(centred) / np.linalg.norm(error))
    return scaled


@LAW
@given(SEEDS)
def test_a_varied_truth_with_visible_mutants(seed: int) -> None:
    truth = drawn(seed)
    found = discriminate({"y": truth}, {"bias dropped": {"out0": truth + 1}}, {"y": LIMIT})
    assert found.enough
    assert found.reason == ""
    assert list(found.table) == ["mean output", "rows permuted", "bias dropped"]
    assert found.table["mean output"]["E"] == pytest.approx(1)
    assert all(row["killed"] and row["ratio"] >= 10 for row in found.table.values())


@pytest.mark.parametrize("tolerances, enough, killed", [(0.5, False, False), (5, False, True), (20, True, True)])
def test_a_mutant_has_to_be_ten_tolerances_off(tolerances: float, enough: bool, killed: bool) -> None:
    truth = drawn(1)
    loose_m = Tolerance(E=1e-4, M=1.0, ill_conditioned=False)
    found = discriminate({"y": truth}, {"faint": {"out0": off_by(truth, tolerances * 1e-4)}}, {"y": loose_m})
    assert found.enough is enough
    assert found.table["faint"]["killed"] is killed
    assert found.table["faint"]["ratio"] == pytest.approx(tolerances)
    if not enough:
        assert found.reason.startswith(f"faint is only {tolerances:.1f} tolerances off (1 of 3 variants below 10")


def test_a_single_large_error_kills_by_m_alone() -> None:
    truth = drawn(1, (8, 5000))
    actual = truth.copy()
    actual[3, 7] += 0.01
    found = discriminate({"y": truth}, {"one element": {"out0": actual}}, {"y": LIMIT})
    assert found.table["one element"]["killed"]
    assert found.table["one element"]["E"] < LIMIT.E


def test_a_mutant_that_changes_nothing_names_itself() -> None:
    truth = drawn(1)
    found = discriminate({"y": truth}, {"same": {"out0": truth}, "other": {"out0": -truth}}, {"y": LIMIT})
    assert not found.enough
    assert found.reason.startswith("same is only 0.0")
    assert not found.table["same"]["killed"]
    assert found.table["other"]["killed"]


@pytest.mark.parametrize("truth", [np.full((8, 12), 0.1), drawn(1, (1, 12))])
def test_a_truth_that_does_not_change_shows_nothing(truth: Array) -> None:
    found = discriminate({"y": truth}, {}, {"y": LIMIT})
    assert not found.enough
    assert "2 of 2" in found.reason


def test_a_truth_that_hardly_changes_beside_its_noise_shows_nothing() -> None:
    found = discriminate({"y": drawn(1)}, {}, {"y": Tolerance(E=0.5, M=5.0, ill_conditioned=True)})
    assert not found.enough


def test_one_output_that_sees_the_error_suffices() -> None:
    truth = {"blind": drawn(1), "seeing": drawn(2)}
    mutant = {"out0": drawn(1), "out1": drawn(3)}
    assert discriminate(truth, {"weights x 1.01": mutant}, {"blind": LIMIT, "seeing": LIMIT}).enough


@pytest.mark.parametrize("broken", [np.full((8, 12), np.nan), np.zeros((8, 11)), np.full((8, 12), np.inf)])
def test_a_mutant_that_breaks_the_output_is_seen(broken: Array) -> None:
    found = discriminate({"y": drawn(1)}, {"broken": {"out0": broken}}, {"y": LIMIT})
    assert found.enough
    assert found.table["broken"] == {"E": None, "M": None, "ratio": 1e9, "killed": True}


@pytest.mark.parametrize(
    "truth", [np.array([["cat"], ["dog"]]), np.array([[1.0], [np.inf]]), np.array([[1.0], [np.nan]]), np.zeros((0, 3))]
)
def test_what_cannot_be_measured_shows_nothing(truth: Array) -> None:
    found = discriminate({"y": truth}, {"mutant": {"out0": truth[::-1]}}, {"y": LIMIT})
    assert not found.enough
    assert not any(row["killed"] for row in found.table.values())


def test_integer_outputs_and_outputs_without_limits_show_nothing() -> None:
    truth = {"labels": np.arange(8).reshape(8, 1), "unmeasured": drawn(1)}
    mutant = {"out0": truth["labels"] + 1, "out1": drawn(2)}
    found = discriminate(truth, {"mutant": mutant}, {"labels": LIMIT})
    assert not found.enough
    assert not found.table["mutant"]["killed"]


def test_a_mutant_without_outputs_shows_nothing() -> None:
    assert not discriminate({"y": drawn(1)}, {"silent": {}}, {"y": LIMIT}).enough


def test_the_tables_threshold_holds() -> None:
    truth = drawn(1)
    faint = {"faint": {"out0": off_by(truth, 5e-4)}}
    strict = with_overrides()
    assert not discriminate({"y": truth}, faint, {"y": LIMIT}, strict).enough
    assert discriminate({"y": truth}, faint, {"y": Tolerance(1e-5, 1e-4, False)}, strict).enough
