"""The page of layers from rows alone."""

from __future__ import annotations

from typing import Any

from bench_plugin.report.formats import markdown
from bench_plugin.report.pages.registry import build_pages
from tests.report.made import cell, header, plan

LAYER = {
    "name": "/layer1/conv1/Conv", "kind": "Conv 3x3",
    "signature": "Conv+Relu 1x64x56x56 -> 1x64x56x56 kernel 3x3 pads 1",
    "operators": ["Conv", "Relu"], "occurrences": 3, "occurs_at": ["a", "b", "c"], "operations": 231_211_008,
    "other_operations": 0, "weights": 36864, "status": "supported", "reason": "", "E": 2e-7, "median": 0.002,
    "interval": {"low": 0.0019, "high": 0.0021, "kind": "over launches"}, "per_second": 499.0, "ops_per_s": 115.6e9,
}  # fmt: skip
STACK = {
    **LAYER, "name": "/layer1/conv1/Conv to /layer1/conv2/Conv", "kind": "stack of 2",
    "layers": ["/layer1/conv1/Conv", "/layer1/conv1/Conv"], "excess": {"median": 0.93, "low": 0.91, "high": 0.95},
}  # fmt: skip
KIND = {
    "kind": "Conv 3x3", "distinct": 1, "occurrences": 3, "seconds": 0.006, "share": 1.0, "latency_mean": 0.002,
    "latency_sd": None, "ops_per_s_mean": 115.6e9, "ops_per_s_sd": None,
}  # fmt: skip
LEVELS = {
    "layers": [LAYER, {**LAYER, "name": "/loop", "status": "not cut", "reason": "Loop reads tensors", "median": None}],
    "stacks": [STACK], "blocks": [], "model": {"median": 0.0055}, "kinds": [KIND], "threads": 2,
    "sum": {"layers": 0.006, "model": 0.0055, "missing": 3, "lower_bound": True,
            "ratio": {"median": 1.09, "low": 1.07, "high": 1.11}},
}  # fmt: skip


def page(levels: dict[str, Any] | None = None) -> str:
    axes = {"check": "layers", "model": "resnet50", "framework": "pytorch", "exporter": "torchscript", "opset": 17,
            "compiler": "onnxruntime", "precision": "fp32", "target": "local"}  # fmt: skip
    rows = [header(), plan(1, 1), cell(axes, numbers={"levels": levels or LEVELS})]
    [found] = build_pages(rows)
    assert found.name == "layers" and found.grids[0][1].rows
    return markdown.render(found.document)


def test_a_layer_has_its_signature_occurrences_verdict_and_time() -> None:
    text = page()
    line = next(line for line in text.splitlines() if line.startswith("| /layer1/conv1/Conv |"))
    for said in ("Conv+Relu 1x64x56x56", "| 3 |", "| 231.2 |", "supported", "2.0e-07", "2 ms", "| 116 |", "100.0%"):
        assert said.strip("| ") in line, said


def test_stacks_have_their_excess_with_its_interval() -> None:
    line = next(line for line in page().splitlines() if "stack of 2" in line and line.startswith("|"))
    assert "0.93" in line and "0.91 to 0.95" in line


def test_the_sum_says_that_it_is_a_lower_bound_and_what_it_is_of_the_model() -> None:
    text = page()
    assert "6 ms (a lower bound: 3 were not timed)" in text
    assert "The whole model takes 5.5 ms: sum / model is 1.09, 1.07 to 1.11" in text


def test_what_could_not_be_cut_is_in_the_table() -> None:
    assert any("/loop" in line and "not cut" in line for line in page().splitlines())


def test_a_cell_that_failed_before_it_was_cut_is_among_the_failures() -> None:
    axes = {"check": "layers", "model": "net", "framework": "onnx", "compiler": "onnxruntime", "precision": "fp32"}
    rows = [header(), plan(1, 1), cell(axes, "ERROR", numbers={"levels": None}, reason="it broke", result="failed")]
    [found] = build_pages(rows)
    assert "it broke" in markdown.render(found.document)
