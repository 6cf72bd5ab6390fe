"""Rows of timed, judged and compiled models for pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench_plugin.report.entries import Entry, entry
from bench_plugin.report.pictures.results import Results
from tests.report.made import Row

TITLES = {
    "models": {"digits": "Digits", "mobile": "MobileNet"},
    "tasks": {"digits": "classification", "mobile": "classification", "boxes": "detection"},
}


def cell(check: str, axes: Row, status: str = "supported", **more: Any) -> Row:
    """A computed cell whose key is its axes in words."""
    key = "/".join(f"{value}" for value in axes.values())
    return {
        "schema": 1, "kind": "cell", "key": f"{check}/{key}", "cell": {"check": check, **axes}, "check": check,
        "status": status, "result": "passed", **more,
    }  # fmt: skip


def axes(model: str = "digits", compiler: str = "tvm", precision: str = "fp32", **more: Any) -> Row:
    return {
        "model": model, "framework": "pytorch", "exporter": "dynamo", "opset": 17, "compiler": compiler,
        "precision": precision, "target": "local", **more,
    }  # fmt: skip


def timing(
    axes: Row, seconds: float = 0.002, per_second: float = 400.0, system: float | None = 0.003,
    launches: Sequence[float] = (0.0019, 0.002, 0.0022), status: str = "supported", **more: Any,
) -> Row:  # fmt: skip
    """A timed cell; times are in seconds."""
    figures: Row = {
        "compute": {"median": seconds, "launch_medians": list(launches)},
        "throughput": {"per_second": per_second, "kind": "closed loop", "clients": 1},
        "conditions": {"threads": 2},
    }
    figures |= {} if system is None else {"system": {"median": system}}
    return cell("timing", axes, status, numbers={"timing": figures, **more.pop("numbers", {})}, **more)


def quality(axes: Row, accuracy: float, status: str = "supported", **more: Any) -> Row:
    return cell("quality", axes, status, numbers={"accuracy": accuracy, **more.pop("numbers", {})}, **more)


def equivalence(axes: Row, error: float | None, tolerance: float | None, status: str = "supported", **more: Any) -> Row:
    return cell("equivalence", axes, status, numbers={"E": error, "tolerance_E": tolerance}, **more)


def entries(*rows: Row) -> list[Entry]:
    return [entry(row) for row in rows]


def results(*rows: Row) -> Results:
    """What pictures take."""
    return Results(entries(*rows), TITLES)


def power(base: float, idle: float, full: float) -> Row:
    """``numbers["power"]`` with one meter, in watts."""
    figures = {name: {"mean": value} for name, value in (("base", base), ("idle", idle), ("full", full))}
    return {"power": {"power.board": {"place": "socket", **figures}}}


def everything() -> list[Row]:
    """Rows that every picture has something of: two models, three compilers, a sweep, a wrong result, power."""
    rows = []
    for model, scale in (("digits", 1.0), ("mobile", 20.0)):
        for number, compiler in enumerate(("tvm", "openvino", "native")):
            for precision in ("fp32", "w8a8"):
                place = axes(model, compiler, precision)
                seconds = scale * (number + 1) * (0.5 if precision == "w8a8" else 1.0) * 1e-3
                for batch in (1, 4, 16):
                    wrong = (compiler, precision) == ("openvino", "w8a8")
                    swept = {} if batch == 1 else {"batch": batch}
                    rows.append(
                        timing(
                            place | swept,
                            seconds * batch**0.8,
                            batch**0.2 / seconds,
                            system=seconds * batch**0.8 * 1.3,
                            launches=[seconds * batch**0.8 * factor for factor in (0.98, 0.99, 1.0, 1.01, 1.05)],
                            status="mismatch" if wrong else "supported",
                            numbers=power(3.0, 3.5, 6.0 + number),
                        )
                    )
                rows.append(quality(place, 0.95 - 0.01 * number - (0.02 if precision == "w8a8" else 0.0)))
                rows.append(equivalence(place, 2e-6, 1e-5, timings={"compile": 1.0, "run": 1.0}))
    rows.append(equivalence(axes("boxes"), 3e-2, 1e-3, "mismatch", stage="compare", timings={"compile": 1.0, "run": 1}))
    rows.append(equivalence(axes("boxes", "ncnn"), None, None, "ERROR", stage="compile", reason="no rule for Foo"))
    return rows
