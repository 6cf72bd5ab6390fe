"""Scores of predictions against measured rows and against published measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.characterise.prediction.datatypes import stored_as
from bench_plugin.characterise.prediction.measured import measured_of
from bench_plugin.characterise.prediction.predict import Demand, predict
from bench_plugin.characterise.prediction.published import MEASUREMENTS, TOPOLOGIES, demands, measurements
from bench_plugin.characterise.prediction.roofs import Figure, TargetMode
from bench_plugin.characterise.prediction.scores import ABOVE, Basis, Pair, best, mape, pearson, ranks, scored
from bench_plugin.cli.shared.predicting.grid import computed
from bench_plugin.cli.shared.predicting.measured_rows import pairs_of

PUBLISHED = Path(__file__).parents[2] / "docs/published"
WHERE = TargetMode("local", peaks={"fp32": Figure(1e11, "s")}, bandwidth=Figure(1e10, "s"))


def pair(operations: float, measured: float, basis: Basis = "compute", task: str = "classification") -> Pair:
    found = predict(Demand("m", operations, 1e3), WHERE, stored_as("fp32"))
    assert found is not None
    return Pair(found, task, basis, measured)


def row(model: str, *, compute: float, system: float = 0.0, **more: Any) -> dict[str, Any]:
    cell = {"check": "timing", "model": model, "compiler": "onnxruntime", "precision": "fp32", "target": "local"}
    timing = {"compute": {"median": compute}, "conditions": {"threads": 2}}
    timing |= {"system": {"median": system}} if system else {}
    return {
        "kind": "cell", "key": model, "cell": {**cell, **more.pop("cell", {})}, "status": "supported",
        "numbers": {"timing": timing}, "placement": {}, **more,
    }  # fmt: skip


def test_correlation_of_ranks_and_error_by_hand() -> None:
    assert pearson([1, 2, 3, 4], [10, 20, 30, 50]) == pytest.approx(0.98270763, abs=1e-8)
    assert pearson(ranks([1, 2, 3]), ranks([10, 1000, 1e6])) == pytest.approx(1)
    assert pearson([1, 2], [1, 2]) is None and pearson([1, 1, 1], [1, 2, 3]) is None
    assert mape([150, 50], [100, 100]) == 50.0


def test_scores_are_by_platform_task_and_basis() -> None:
    pairs = [pair(1e9, 50.0), pair(1e8, 900.0), pair(1e7, 12000.0), pair(1e9, 40.0, "system"), pair(1e9, 9.0, task="x")]
    found = {(one.platform, one.task, one.basis): one for one in scored(pairs)}
    assert set(found) == {
        ("local", "classification", "compute"), ("local", "classification", "system"), ("local", "x", "compute")
    }  # fmt: skip
    score = found["local", "classification", "compute"]
    assert (score.pairs, score.rank, score.above) == (3, pytest.approx(1), 1)
    assert (score.least, score.efficiency, score.most) == pytest.approx((0.5, 0.9, 1.2))
    assert score.mape == pytest.approx(100 * (50 / 50 + 100 / 900 + 2000 / 12000) / 3)
    assert found["local", "classification", "system"].pearson is None


def test_above_one_is_explained() -> None:
    assert pair(1e9, 101.0).explained == ABOVE["compute"] and pair(1e9, 99.0).explained == ""


def test_the_best_row_of_each_key() -> None:
    one, other = pair(1e9, 10.0), pair(1e9, 20.0)
    assert best([one, other], lambda pair: pair.prediction.model) == [other]


def test_measured_figures_of_rows() -> None:
    header: Mapping[str, Any] = {"kind": "header", "titles": {"tasks": {"digits": "classification"}}}
    rows = [
        header, row("digits", compute=0.01, system=0.02), row("batched", compute=0.01, cell={"batch": 8}),
        row("wrong", compute=0.01, status="mismatch"), row("streams", compute=0.01, cell={"streams": 2}),
        row("emulated", compute=0.01, placement={"timing": "emulated"}), {**row("none", compute=0.0)},
    ]  # fmt: skip
    found = [(one.model, one.task, one.basis, one.inputs_per_s) for one in measured_of(rows)]
    assert found == [
        ("digits", "classification", "compute", 100.0), ("digits", "classification", "system", 50.0),
        ("batched", "", "compute", 800.0),
    ]  # fmt: skip


def test_a_row_is_predicted_at_its_own_batch_and_from_the_peaks_of_its_threads() -> None:
    one = replace(WHERE, mode="1 thread", peaks={"fp32": Figure(5e10, "s")})
    grid = computed(
        [Demand("digits", 1e6, 1e6)], [WHERE, one], [stored_as("fp32")], (), storage="weights-off-chip", batch=1
    )  # fmt: skip
    rows = [row("digits", compute=0.01, cell={"batch": 4}), row("digits", compute=0.02, cell={"threads": 1})]
    pairs = pairs_of(grid, rows)
    assert [(one.prediction.batch, one.prediction.mode) for one in pairs] == [(4, ""), (1, "1 thread")]
    assert pairs[0].prediction.inputs_per_s == 4 * 1e10 / 4e6
    assert pairs_of(grid, [row("unknown", compute=0.01)]) == []


def test_published_measurements_have_published_needs() -> None:
    needs = demands(PUBLISHED / TOPOLOGIES)
    found = list(measurements(PUBLISHED / MEASUREMENTS))
    assert len(found) > 800 and {one.model for one in found} <= set(needs)
    assert {one.target for one in found} >= {"coral", "jetson-tx2", "zcu104-finn", "ultra96-a53"}
    first = found[0]
    assert (first.model, first.precision, first.target, first.mode) == ("CNV 100%", "fp16", "jetson-tx2", "maxn")
    assert (first.batch, first.basis, first.inputs_per_s) == (1, "compute", 785.639)
