"""Hand-made rows of a sweep on the page of times, which reach the branches that plain cells do not."""

from __future__ import annotations

from typing import Any

from tests.report.made import Row, declared, header, plan

NONE = "toolchain is not made; bench env sync adds it"
POWER = {
    "power.board": {"absent": {"base": "not taken"}, "energy_per_inference": {"with_idle": 0.0824, "above_idle": 0.01}},
}  # fmt: skip


def series(resident: float, gpu: float | None = None) -> Row:
    """The memory of a cell in bytes, as its series say."""
    found = {"memory.rss": {"unit": "B", "samples": 4, "mean": resident, "max": 1.5 * resident, "median": resident}}
    return found | ({} if gpu is None else {"gpu0.memory": {"unit": "B", "samples": 3, "max": gpu}})


def swept(titles: Row, versions: Row) -> list[Row]:
    """The rows of a results file with a sweep over batches, threads, streams, modes and kept channels."""

    def cell(compiler: str, median: float, rate: float, status: str = "supported", **more: Any) -> Row:
        axes = {"check": "timing", "model": "lstm", "framework": "pytorch", "exporter": "dynamo",
                "compiler": compiler, "precision": "fp32", "target": "local"} | more.pop("axes", {})  # fmt: skip
        timing = {
            "compute": {"median": median, "samples": 77}, "throughput": {"per_second": rate}, "launches": 3,
            "interval": {"low": 0.9 * median, "high": 1.2 * median, "half_width": 0.15, "kind": "over launches"},
            "conditions": {"threads": 4, "load_before": {"busy": 0.07}},
        }  # fmt: skip
        numbers = {"timing": timing | more.pop("timing", {}), **more.pop("numbers", {})}
        return {"schema": 1, "kind": "cell", "key": "", "cell": axes, "check": "timing", "status": status,
                "numbers": numbers, **more}  # fmt: skip

    budget = {"clock_cost": 3e-8, "clock_share": 0.0123}
    return [
        header(titles=titles, versions=versions), plan(12, 12),
        declared({"check": "timing", "model": "absent", "framework": "mxnet", "compiler": "tvm", "precision": "fp32"},
                 "Not provided", NONE),
        declared({"check": "timing", "model": "absent", "framework": "mxnet", "compiler": "ncnn", "precision": "fp32"},
                 "Not provided", NONE),
        cell("native", 0.032, 31.0, axes={"exporter": ""}),
        cell("native", 0.1001, 81.0, axes={"exporter": "", "batch": 8}),
        cell("iree", 0.004, 250.0, numbers={"series": series(3.5 * 2**20, 5.25 * 2**20), "power": POWER},
             artefacts={"model": {"bytes": 1_230_000, "sha256": "a"}},
             timing={"compile_seconds": 1234.5, "error_budget": budget, "caps": ["first cap", "second cap"]}),
        cell("iree", 0.001, 7000.0, axes={"batch": 8}, numbers={"series": series(7.5 * 2**20)}),
        cell("iree", 0.0025, 400.0, axes={"threads": 2}, timing={"error_budget": budget, "launches": 1}),
        cell("iree", 0.0055, 900.0, axes={"streams": 4, "mode": "15W"}),
        cell("onnxruntime", 0.0005, 2000.0, "mismatch", stage="compare", symptom="mismatch", reason="off"),
        cell("onnxruntime", 0.0064, 800.0, axes={"framework": "onnx", "exporter": "", "model": "file", "batch": 32,
                                                 "threads": 2}),
        cell("onnxruntime", 0.0128, 350.0, axes={"model": "pruned", "kept": 50, "streams": 2, "target": "pi4"}),
        cell("tvm", 1500.0, 0.0006, axes={"model": "slow", "graph": "qdq", "precision": "w8a8"}),
    ]  # fmt: skip
