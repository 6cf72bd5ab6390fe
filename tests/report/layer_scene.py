"""Hand-made rows of the page of layers, which reach every branch of it; no two figures are alike."""

from __future__ import annotations

from typing import Any

from tests.report.made import Row, header, plan


def layer(name: str, signature: str, occurrences: int, operations: int, **more: Any) -> Row:
    """A layer that was neither judged nor timed, but for what ``more`` says."""
    return {
        "name": name, "kind": "Conv 3x3", "signature": signature, "operators": ["Conv"], "occurrences": occurrences,
        "occurs_at": [name], "operations": operations, "other_operations": 0, "weights": 36864, "status": "supported",
        "reason": "", "median": None, **more,
    }  # fmt: skip


def measured(median: float, rate: float, **more: Any) -> Row:
    """What a timed layer or stack has besides."""
    between = {"low": median * 0.97, "high": median * 1.05, "kind": "over launches"}
    return {"median": median, "interval": between, "per_second": 0.98 / median, "ops_per_s": rate, **more}


def kind(name: str, distinct: int, occurrences: int, seconds: float, share: float, **more: Any) -> Row:
    return {"kind": name, "distinct": distinct, "occurrences": occurrences, "seconds": seconds, "share": share, **more}


FULL = {
    "threads": 2,
    "layers": [
        layer("/conv1", "Conv+Relu 1x3x8x8 -> 1x4x8x8 pads 1", 3, 231_211_008, E=2.25e-7, **measured(2.1e-3, 115.6e9)),
        layer("/fc", "Gemm 1x512 -> 1x10", 1, 10_240, status="mismatch", reason="E 0.5", E=0.5,
              **measured(4.7e-6, 2.18e9)),
        layer("/pool", "MaxPool 2x2", 2, 0, **measured(9.3e-6, 0.0) | {"ops_per_s": None}),
        layer("/loop", "Loop", 4, 77, status="not cut", reason="Loop reads tensors"),
    ],
    "stacks": [
        layer("/conv1 to /pool", "", 5, 462_422_016, kind="stack of 2", layers=["/conv1", "/pool"], E=3.5e-7,
              excess={"median": 0.934, "low": 0.912, "high": 0.957}, **measured(3.9e-3, 118.4e9)),
        layer("/pool to /fc", "", 1, 6_000, kind="stack of 2", layers=["/pool", "/fc"], excess={"median": 1.25},
              status="ERROR", reason="it broke"),
    ],
    "blocks": [
        layer("layer1.0", "", 6, 8_500_000, kind="block", layers=["/conv1", "/fc", "/pool"], excess=None,
              **measured(6.4e-3, 72.5e9)),
    ],
    "kinds": [
        kind("Conv 3x3", 1, 3, 6.3e-3, 0.975, latency_mean=2.15e-3, latency_sd=1.4e-4, ops_per_s_mean=114.5e9,
             ops_per_s_sd=3.25e9),
        kind("Gemm", 2, 7, 4.6e-5, 0.0185),
    ],
    "model": {"median": 5.5e-3},
    "sum": {"layers": 6.45e-3, "missing": 4, "lower_bound": True,
            "ratio": {"median": 1.173, "low": 1.152, "high": 1.198}},
}  # fmt: skip
SMALL = {
    "threads": 1, "stacks": [], "blocks": [], "kinds": [],
    "layers": [layer("/conv2", "Conv 1x1", 8, 5_000_000, **measured(1.7e-3, 2.94e9))],
    "model": {"reason": "it takes too long"}, "sum": {"layers": 13.6e-3, "missing": 0, "lower_bound": False},
}  # fmt: skip
WITHOUT_INTERVAL = SMALL | {"model": {"median": 0.25}, "sum": {"ratio": {"median": 1.5}}, "threads": 4}
UNTIMED = SMALL | {"layers": [layer("/conv3", "Conv 5x5", 9, 600)], "model": {}, "sum": {}, "threads": 3}
WITHOUT_RATIO = UNTIMED | {"model": {"median": 0.75}}


def levels(titles: Row, versions: Row) -> list[Row]:
    """The rows of a results file with cells of layers alone."""

    def cell(compiler: str, found: Row | None, status: str = "supported", **more: Any) -> Row:
        axes = {"check": "layers", "model": "lstm", "framework": "pytorch", "exporter": "dynamo", "opset": 17,
                "compiler": compiler, "precision": "fp32", "target": "local"} | more.pop("axes", {})  # fmt: skip
        return {"schema": 1, "kind": "cell", "key": "", "cell": axes, "check": "layers", "status": status,
                "numbers": {"levels": found}, **more}  # fmt: skip

    return [
        header(titles=titles, versions=versions), plan(6, 7),
        cell("onnxruntime", FULL),
        cell("onnxruntime", SMALL, axes={"precision": "w8a8", "graph": "qdq"}),
        cell("iree", WITHOUT_INTERVAL),
        cell("iree", UNTIMED, axes={"target": "arm64"}),
        cell("iree", WITHOUT_RATIO, axes={"precision": "fp16"}),
        cell("ncnn", None, "ERROR", stage="compile", symptom="crash", reason="killed by SIGSEGV\nmore",
             result="failed"),
    ]  # fmt: skip
