"""Runs as they are written night after night: whole rows, as ``cell_row`` makes them, in files of their own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom
from bench_plugin.results.rows import cell_row, declared_row, of_run

Row = dict[str, Any]
VERSIONS = {"onnxruntime": "1.31.1", "onnx": "1.23.2"}


def run_id(night: int) -> str:
    return f"202611{night:02d}-020000-{night:06x}"


def header(night: int, **more: Any) -> Row:
    return {
        "schema": 1, "kind": "header", "run": run_id(night), "started": f"2026-11-{night:02d}T02:00:00Z",
        "commit": f"c{night:06x}", "command": ["pytest", "suites"], "versions": {"onnxruntime": VERSIONS},
        "machine": {"cpu": "Some CPU", "architecture": "x86_64", "cpus": 2}, "host": {"digest": "abc"},
        "state": {}, "seeds": {}, "titles": {}, "python": "3.11.7", "bench_plugin": "0.1.0", **more,
    }  # fmt: skip


def axes(model: str = "lstm", compiler: str = "onnxruntime", precision: str = "fp32", **more: Any) -> Row:
    return {
        "check": "equivalence", "model": model, "framework": "pytorch", "exporter": "dynamo", "opset": 17,
        "compiler": compiler, "precision": precision, "target": "local", **more,
    }  # fmt: skip


def passed(cell: Mapping[str, Any], key: str = "aaaa00000000", **numbers: Any) -> Row:
    outcome = Outcome(
        Status.SUPPORTED, converted=True, verified=True, numbers=numbers, timings={"compile": 1.5, "run": 0.25},
        peaks={"compile": 1000, "check": 2000}, versions=VERSIONS,
    )  # fmt: skip
    return _row(cell, outcome, key, "passed")


def failed(cell: Mapping[str, Any], key: str = "aaaa00000000", reason: str = "no rule for Foo", *, known: bool = False,
           **more: Any) -> Row:  # fmt: skip
    outcome = Outcome(Status.ERROR, Stage.COMPILE, Symptom.EXCEPTION, reason, "Traceback", versions=VERSIONS)
    expected = {"reason": "a bug", "link": ""} if known else None
    return {**_row(cell, outcome, key, "xfailed" if known else "failed", expected), **more}


def timed(cell: Mapping[str, Any], p50: float, key: str = "bbbb00000000", **more: Any) -> Row:
    timing = {"percentiles": {"p50": p50, "p90": p50 * 1.25}, "compute": {"median": p50 * 1.01}, "launches": 5}
    series = {"cpu": {"file": "series/abc.npy", "samples": 3, "unit": "%", "mean": 50.0, "hz": 5}}
    return passed({**cell, "check": "timing"}, key, timing=timing, series=series, E=1e-7) | more


def decided(cell: Mapping[str, Any], status: Status = Status.UNSUPPORTED) -> Row:
    return declared_row(cell, status=status, reason="the compiler does not take it")


def night(number: int, *cells: Row, **more: Any) -> list[Row]:
    """The rows of a run: header, plan and cells, with the id of the run."""
    plan = {"schema": 1, "kind": "plan", "count": len(cells), "total": len(cells), "hash": "h"}
    plan["selection"] = {"profile": "quick"}
    return [of_run(row, run_id(number)) for row in (header(number, **more), plan, *cells)]


def write(path: Path, rows: Iterable[Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def _row(cell: Mapping[str, Any], outcome: Outcome, key: str, result: str, expected: Row | None = None) -> Row:
    return cell_row(
        cell, outcome, key=key, nodeid=f"test.py::test[{key}]", expected=expected, repro=["test.py"], result=result,
        settings={"seed": 0, "threads": 0}, host="abcdef012345",
    )  # fmt: skip
