"""Results files for the tests of the interactive page: a run, the run before it, and rows with hostile texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.report.made import Row, declared, header, plan

BEFORE, NOW = "20261120-020000-aaaaaa", "20261121-020000-bbbbbb"
HOSTILE = "</script><script>window.broken = 1</script><!-- <img src=x onerror='window.broken = 2'> \u2028 ${1} & \"'"
BROKEN_KEY, FIXED_KEY, PROFILE_KEY, TIMED_KEY, HOSTILE_KEY = "aaaa00000001", "aaaa00000002", "cccc", "dddd", "eeee"
BIG = 1200  # cells, more than the table ever has in the document


def computed(number: int, status: str = "supported", *, key: str = "", axes: Row | None = None, **more: Any) -> Row:
    """A computed row of an equivalence; the number says which model, compiler and precision."""
    compiler, precision = ("iree", "onnxruntime", "tvm")[number % 3], ("fp32", "fp16")[number // 3 % 2]
    cell = {
        "check": "equivalence", "model": f"model{number // 6}", "framework": "pytorch", "exporter": "dynamo",
        "opset": 17, "compiler": compiler, "precision": precision, "target": "local", **(axes or {}),
    }  # fmt: skip
    failed = status in ("mismatch", "ERROR", "unsupported")
    return {
        "schema": 1, "kind": "cell", "key": key or f"{number:012x}", "cell": cell, "check": cell["check"],
        "status": status, "result": "failed" if failed else "passed", "reason": "", "detail": "", "stage": None,
        "symptom": None, "numbers": {"E": 1e-7 * (number + 1), "tolerance_E": 1e-5, "noise_E": 1e-8},
        "timings": {"compile": 0.5, "run": 0.25}, "peaks": {"run": 2**27}, "versions": {"torch": "2.13.0"},
        "repro": [f"suites/test_x.py::test_x[{number}]", f"--bench-models={cell['model']}"],
        "nodeid": f"suites/test_x.py::test_x[{number}]", **more,
    }  # fmt: skip


def failure(number: int, status: str, stage: str, symptom: str, reason: str, **more: Any) -> Row:
    """A computed row that did not pass."""
    return computed(number, status, stage=stage, symptom=symptom, reason=reason, **more)


def rows_now() -> list[Row]:
    """The run of today: 1 cell broke because of a new TVM, 1 got better, 1 fails as before, 1 is a known failure."""
    known = {"result": "xfailed", "expected": {"reason": "it sums in float16", "link": "https://example.org/issue/7"}}
    layers = [{"name": f"layer{n}", "within": n != 2, "largest_steps": 10.0 ** (n - 2)} for n in range(4)]
    timing = {
        "timing": {"compute": {"median": 0.002, "mean": 0.0021, "min": 0.0019, "max": 0.004},
                   "first_inference": 0.05, "throughput": {"per_second": 480.0, "kind": "closed loop"}},
        "series": {"cpu": {"unit": "%", "place": "process tree", "samples": 3, "mean": 98.5, "median": 99.0}},
    }  # fmt: skip
    return [
        failure(2, "mismatch", "compare", "mismatch", "out0: E 2.0e-03 > 1.0e-05", key=BROKEN_KEY, log="logs/tvm-1.log",
                detail="Traceback (most recent call last):\n  lowered wrongly"),
        computed(1, key=FIXED_KEY),
        failure(4, "ERROR", "compile", "exception", "RuntimeError: it always fails"),
        failure(5, "unsupported", "compile", "unsupported", "no kernel for Einsum", **known),
        computed(3, key=PROFILE_KEY, numbers={"E": 2e-6, "tolerance_E": 1e-5, "per_layer": layers}),
        computed(9, key=TIMED_KEY, axes={"check": "timing"}, numbers={"E": 1e-7, "tolerance_E": 1e-5, **timing}),
        failure(10, "ERROR", "run", "crash", HOSTILE, key=HOSTILE_KEY, detail=HOSTILE,
                expected={"reason": HOSTILE, "link": "javascript:window.broken=3"}, result="xfailed"),
        *(computed(number) for number in (0, 6, 7, 8)),
        declared({"check": "equivalence", "model": "gone", "framework": "mxnet", "compiler": "tvm",
                  "precision": "fp32", "target": "local"}, "Not provided", "MXNet has no such model"),
    ]  # fmt: skip


def rows_before() -> list[Row]:
    """The run of yesterday."""
    changed = {
        BROKEN_KEY: computed(2, key=BROKEN_KEY),
        FIXED_KEY: failure(1, "mismatch", "compare", "mismatch", "out0: E 1.0e-02 > 1.0e-05", key=FIXED_KEY),
    }
    return [changed.get(row.get("key", ""), row) for row in rows_now()]


def write_runs(folder: Path, now: Sequence[Row] | None = None) -> Path:
    """The results file of today, with yesterday's in its history and a log; returns its path."""
    rows = list(now if now is not None else rows_now())
    path = folder / "results.jsonl"
    write(path, _head(NOW, "0.27.0", len(rows)), rows)
    write(folder / "history" / f"{BEFORE}.jsonl", _head(BEFORE, "0.26.0", len(rows)), rows_before())
    (folder / "logs").mkdir(exist_ok=True)
    (folder / "logs" / "tvm-1.log").write_text(
        "pass FoldConstant\nHF_TOKEN=hf_0123456789abcdefghij\nlast words of TVM\n"
    )
    return path


def write_two(folder: Path) -> list[Path]:
    """Two results files: operator cases of several categories, and models that do their task, on another machine."""
    cases = {"check": "operator", "model": "test_add", "framework": "onnx", "compiler": "iree"}
    first = [
        computed(0, axes=cases, numbers={"category": "node", "operators": ["Add"], "opset": 14}),
        failure(1, "mismatch", "compare", "mismatch", "off", axes={**cases, "model": "test_mul"},
                numbers={"category": "simple", "operators": ["Mul"], "opset": 9}),
        computed(2, axes={**cases, "model": "test_sub10"}), computed(3, axes={**cases, "model": "test_sub9"}),
    ]  # fmt: skip
    task = {"check": "quality", "precision": "w8a8", "target": "pi4", "graph": "qdq"}
    second = [
        computed(4, axes=task, numbers={"accuracy": 0.975, "drop": {"top1": 0.0125}}, host="bbb",
                 placement={"board": {"name": "pi4", "kind": "ssh"}}),
        computed(5, axes={**task, "batch": 8}, numbers={"accuracy": "none"}, flags=["weak: 2 of 5"], host="bbb"),
        computed(6, numbers={"E": None, "strength": 0.75, "series": {"cpu": {"unit": "%", "samples": 3}}}),
    ]  # fmt: skip
    paths = folder / "cases" / "results.jsonl", folder / "tasks" / "results.jsonl"
    for path, run, rows in zip(paths, (BEFORE, NOW), (first, second), strict=True):
        write(path, _head(run, "0.27.0", len(rows)), rows)
    return list(paths)


def write(path: Path, *parts: Sequence[Row]) -> Path:
    """A results file of all rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for part in parts for row in part), "utf-8")
    return path


def many(count: int = BIG) -> list[Row]:
    """Computed cells of which every seventh fails."""
    return [
        failure(n, "ERROR", "compile", "exception", f"RuntimeError: {n}") if n % 7 == 3 else computed(n)
        for n in range(count)
    ]


def _head(run: str, version: str, count: int) -> list[Row]:
    head = header(run=run, started=f"{run[:4]}-{run[4:6]}-{run[6:8]}T02:00:00Z", commit=run[-6:],
                  versions={"tvm": {"apache-tvm": version}, "iree": {"iree-base": version}})  # fmt: skip
    return [head, {**plan(count, count), "hash": "1234", "selection": {"profile": "quick"}}]
