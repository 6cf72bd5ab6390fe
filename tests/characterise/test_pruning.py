"""Variants of pruned models in rows, orthogonality by hand, and bytes of sparse formats against SciPy's own arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse as stock

from bench_plugin.characterise.pruning.orthogonality import orthogonality
from bench_plugin.characterise.pruning.sparse import Matrix, break_even, faster_below, matrices, sizes
from bench_plugin.characterise.pruning.tables import markdown, variant_rows
from bench_plugin.characterise.pruning.variants import variants
from tests.characterise.graphs import Graph

CELL = {"model": "net", "framework": "pytorch", "exporter": "dynamo", "opset": 20, "compiler": "onnxruntime"}


def row(
    check: str, precision: str, kept: int, *, graph: str = "", status: str = "supported", **said: Any
) -> dict[str, Any]:
    cell = {"check": check, **CELL, "precision": precision, "target": "local"}
    cell |= {"kept": kept} if kept != 100 else {}
    cell |= {"graph": graph} if graph else {}
    return {"kind": "cell", "cell": cell, "status": status, "numbers": {}, "artefacts": {}, **said}


def timing(seconds: float, half_width: float = 0.01) -> dict[str, Any]:
    return {"timing": {"compute": {"median": seconds}, "interval": {"half_width": half_width}}}


def four(times: dict[str, float], accuracies: dict[str, float], bytes_: dict[str, int]) -> list[dict[str, Any]]:
    """Rows of A (original), B (quantised), C (pruned) and D (both)."""
    places = {"A": ("fp32", "", 100), "B": ("w8a8", "qdq", 100), "C": ("fp32", "", 50), "D": ("w8a8", "qdq", 50)}
    rows = []
    for name, (precision, graph, kept) in places.items():
        needs = {"needs": {"operations": 1000 if kept == 100 else 300, "weights": 100 if kept == 100 else 30}}
        files = {"model.onnx": {"sha256": "a", "bytes": bytes_[name]}}
        rows.append(
            row("timing", precision, kept, graph=graph, numbers={**needs, **timing(times[name])}, artefacts=files)
        )
        rows.append(row("quality", precision, kept, graph=graph, numbers={"accuracy": accuracies[name]}))
    return rows


ROWS = four(
    {"A": 8e-6, "B": 4e-6, "C": 4e-6, "D": 3e-6}, {"A": 1.0, "B": 0.9, "C": 0.8, "D": 0.72},
    {"A": 400, "B": 100, "C": 100, "D": 25},
)  # fmt: skip


def test_a_variant_has_the_figures_of_all_its_rows() -> None:
    found = {(one.precision, one.kept): one for one in variants(ROWS)}
    assert list(found) == [("fp32", 100), ("fp32", 50), ("w8a8 qdq", 100), ("w8a8 qdq", 50)]
    both = found["w8a8 qdq", 50]
    assert (both.operations, both.weights, both.size, both.seconds, both.metric) == (300, 30, 25, 3e-6, 0.72)
    assert both.wrong == () and both.of["compiler"] == "onnxruntime"


def test_orthogonality_is_the_ratio_of_both_ratios_of_both_ways() -> None:
    found = {one.figure: one for one in orthogonality(variants(ROWS))}
    assert set(found) == {"time", "size", "task metric"}
    time, size, metric = found["time"], found["size"], found["task metric"]
    assert (time.p1, time.q1, time.p2, time.q2) == (0.5, 0.5, 0.75, 0.75) and time.ratio == 1.5
    assert time.half_width == pytest.approx(0.02) and time.orthogonal is False
    assert size.ratio == 1.0 and size.orthogonal is None, "bytes have no interval"
    assert metric.ratio == pytest.approx(1.0) and metric.p1 == pytest.approx(0.8)
    for one in found.values():
        assert one.p2 / one.p1 == pytest.approx(one.q2 / one.q1)


def test_what_is_not_of_a_single_call_or_of_hardware_is_no_time() -> None:
    batched = [{**one, "cell": {**one["cell"], "batch": 8}} for one in ROWS]
    assert variants(batched) == []
    emulated = [{**one, "placement": {"timing": "emulated"}} for one in ROWS]
    assert [one.seconds for one in variants(emulated)] == [None] * 4
    assert {one.figure for one in orthogonality(variants(emulated))} == {"size", "task metric"}
    assert variants([one for one in ROWS if "kept" not in one["cell"]]) == [], "nothing was pruned"


def test_figures_of_wrong_results_say_so() -> None:
    rows = [{**one, "status": "mismatch"} if one["cell"].get("kept") else one for one in ROWS]
    found = variants(rows)
    assert [one.wrong for one in found] == [(), ("quality", "timing")] * 2
    assert "72.00% (not supported: quality, timing)" in str(variant_rows(found))
    assert all(one.wrong == ("C", "D") for one in orthogonality(found))


def test_the_tables_have_shares_of_the_whole_model() -> None:
    found = variants(ROWS)
    text = markdown(found, orthogonality(found))
    assert (
        "| net | onnxruntime (pytorch dynamo) | fp32 | 50 % | 300 (30.0%) | 30 (30.0%) | 100 (25.0%) | 80.00% |" in text
    )
    assert "| w8a8 qdq | 50 % | time | 0.500 | 0.750 | 0.500 | 0.750 | 1.500 ± 2.0% | no |" in text


@pytest.mark.parametrize("zeros", [0.0, 0.5, 0.9, 0.99])
def test_bytes_of_formats_are_those_of_scipys_arrays(zeros: float) -> None:
    matrix = Matrix("w", "Gemm", 60, 35)
    dense = np.ones(matrix.elements, dtype=np.float32)
    dense[: matrix.elements - matrix.left(zeros)] = 0
    values = np.random.default_rng(0).permutation(dense).reshape(60, 35)
    found = sizes(matrix, zeros)
    assert found["dense"] == values.nbytes
    coo, csr, csc = stock.coo_array(values), stock.csr_array(values), stock.csc_array(values)
    assert found["coo"] == coo.data.nbytes + sum(places.astype(np.int32).nbytes for places in coo.coords)
    for name, made in (("csr", csr), ("csc", csc)):
        assert found[name] == made.data.nbytes + made.indices.nbytes + made.indptr.nbytes, name


def test_at_its_break_even_density_a_format_is_as_large_as_dense() -> None:
    matrix = Matrix("w", "Conv", 64, 288)
    for name, density in break_even(matrix).items():
        size = sizes(matrix, 1 - density)
        assert abs(size[name] - size["dense"]) <= 12, "one weight more or less"
        assert sizes(matrix, 1 - density + 0.01)[name] < size["dense"] < sizes(matrix, 1 - density - 0.01)[name]


def test_where_a_format_is_faster_is_found_between_two_densities() -> None:
    assert faster_below([0.01, 0.1, 0.5], [10.0, 10.0, 10.0], [2.0, 5.0, 25.0]) == pytest.approx(0.2)
    assert faster_below([0.01, 0.1], [1.0, 1.0], [2.0, 3.0]) is None
    assert faster_below([0.01, 0.1], [9.0, 9.0], [2.0, 3.0]) == 1.0


def test_weights_of_layers_are_matrices_of_outputs_by_inputs() -> None:
    graph = Graph((1, 3, 8, 8))
    graph.then("Conv", (1, 16, 6, 6), graph.weight((16, 3, 3, 3))).then("Relu", (1, 16, 6, 6))
    graph.then("Flatten", (1, 576)).then("Gemm", (1, 10), graph.weight((10, 576)), attributes={"transB": 1})
    graph.then("MatMul", (1, 4), graph.weight((10, 4)))
    found = [(one.operator, one.rows, one.columns, one.vectors) for one in matrices(graph.facts())]
    assert found == [("Conv", 16, 27, 36), ("Gemm", 10, 576, 1), ("MatMul", 4, 10, 1)]
