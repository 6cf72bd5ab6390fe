"""Rows as a run writes them, for tests of what is made from rows."""

from __future__ import annotations

from typing import Any

TITLES = {
    "frameworks": {"pytorch": {"title": "PyTorch", "version": "2.13.0"}},
    "compilers": {
        name: {"title": title, "version": version, "takes": ["onnx"], "precisions": {"fp32": []}, "targets": ["local"]}
        for name, title, version in (("onnxruntime", "ONNX Runtime", "1.31"), ("iree", "IREE", "3.11"))
    },
    "models": {"lstm": "LSTM", "vgg16": "VGG16"},
}
Row = dict[str, Any]


def header(**more: Any) -> Row:
    return {
        "schema": 1, "kind": "header", "run": "20261121-204952-1a2b3c", "started": "2026-11-21T20:49:52Z",
        "commit": "abc123", "command": ["pytest", "suites"], "machine": {"cpu": "Some CPU", "cpus": 2},
        "titles": TITLES, "versions": {"iree": {"iree-base": "3.11"}}, "seeds": {"weights": 0}, "python": "3.11.7",
        "bench_plugin": "0.1.0", **more,
    }  # fmt: skip


def plan(count: int, total: int) -> Row:
    return {"schema": 1, "kind": "plan", "count": count, "total": total}


def cell(axes: Row, status: str = "supported", **more: Any) -> Row:
    """A computed cell; its key is made from its axes."""
    key = f"{abs(hash(str(sorted(axes.items())))):012x}"[:12]
    return {
        "schema": 1, "kind": "cell", "key": key, "cell": axes, "check": axes["check"], "status": status,
        "nodeid": f"test.py::test[{key}]", **more,
    }  # fmt: skip


def export(model: str = "lstm", exporter: str = "dynamo", status: str = "supported", **more: Any) -> Row:
    axes = {"check": "export", "model": model, "framework": "pytorch", "exporter": exporter, "opset": 17}
    return cell(axes, status, **more)


def imported(model: str = "lstm", importer: str = "onnx2torch", status: str = "supported", **more: Any) -> Row:
    exporter = more.pop("exporter", "dynamo")
    axes = {"check": "import", "model": model, "framework": "pytorch", "exporter": exporter, "opset": 17}
    axes |= {"importer_framework": "pytorch", "importer": importer}
    return cell(axes, status, **more)


def equivalence(precision: str = "fp32", compiler: str = "onnxruntime", status: str = "supported", **more: Any) -> Row:
    axes = {"check": more.pop("check", "equivalence"), "model": "lstm", "framework": "pytorch", "exporter": "dynamo"}
    axes |= {"opset": more.pop("opset", 17), "compiler": compiler, "precision": precision, "target": "local"}
    return cell(axes, status, **more)


def generated(operator: str, compiler: str, status: str = "supported", tried: int = 10, **more: Any) -> Row:
    axes = {"check": "property", "model": operator, "framework": "onnx", "compiler": compiler}
    return cell(axes, status, **{"numbers": {"tried": tried}, **more})


def declared(axes: Row, status: str, reason: str = "no such model") -> Row:
    return {"schema": 1, "kind": "declared", "cell": axes, "status": status, "reason": reason}
