"""The project's own trained models with their real tools: pruned digits, and the detector on drawn shapes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project import rows_of_suites


@pytest.mark.nightly
def test_pruned_digits_need_less_and_still_do_their_task(tmp_path: Path) -> None:
    found = rows_of_suites(
        tmp_path, "suites/quality", "--kept=100,50,25", "--models=digits_cnn,digits_mlp", "--compilers=onnxruntime",
        "--precisions=fp32,int8", "--frameworks=pytorch,tensorflow",
    )  # fmt: skip
    assert {row["status"] for row in found} == {"supported"} and len(found) == 2 * 2 * 2 * 3
    for row in found:
        kept, cell, numbers = row["cell"].get("kept", 100), row["cell"], row["numbers"]
        if (cell["model"], cell["framework"]) == ("digits_mlp", "pytorch"):
            first, second = 128 * kept // 100, 64 * kept // 100
            weights = 64 * first + first * second + second * 10
            assert (numbers["needs"]["weights"], numbers["needs"]["operations"]) == (weights, 2 * weights)
        assert numbers["accuracy"] > 0.9, cell
        assert ("kept" in numbers["training"]) is (kept != 100)


@pytest.mark.nightly
def test_the_detector_finds_shapes_and_integers_cost_it_little(tmp_path: Path) -> None:
    found = rows_of_suites(
        tmp_path, "suites/quality", "suites/equivalence", "--models=shapes_detector", "--compilers=onnxruntime",
        "--precisions=fp32,int8", "--frameworks=pytorch",
    )  # fmt: skip
    assert {row["status"] for row in found} == {"supported"}
    quality = {row["cell"]["precision"]: row["numbers"] for row in found if row["check"] == "quality"}
    assert quality["fp32"]["map50"] > 0.9 and quality["fp32"]["map"] > 0.6
    assert abs(quality["w8a8"]["drop"]["map"]) < 0.05 and quality["fp32"]["objects"] > 500
    curve = quality["fp32"]["recall_precision"]["disc"]
    assert len(curve["recall"]) == len(curve["precision"]) == 101
