"""Two hand-made runs whose comparison reaches every kind of change; no two of its figures are alike."""

from __future__ import annotations

from typing import Any

from tests.report.comparison.runs import BASE_RUN, HEAD_RUN, KNOWN, timed
from tests.report.made import Row, declared, equivalence, export, header

NEWER = {"versions": {"onnxruntime": "1.30"}}, {"versions": {"onnxruntime": "1.31"}}
BOARD = {"name": "uno", "kind": "serial", "machine": "avr", "machine_id": "17"}
CALIBRATED = {"calibration": 2e-3}, {"calibration": 2.02e-3}


def two_runs() -> tuple[list[Row], list[Row]]:
    """The rows of a run and of a later one, with a header each."""
    changed = [*_statuses(), *_numbers(), *_times(), *_counts()]
    alike = [(export("alike"), export("alike"))]
    base = [
        header(run=BASE_RUN, versions={"iree": {"iree-base": "3.11"}, "gone": {"old": "1"}}, python="3.11.7"),
        *(before for before, _ in (*changed, *alike)), export("removed", "script", status="ERROR", stage="export"),
    ]  # fmt: skip
    head = [
        header(
            run=HEAD_RUN, started="2026-11-22T20:49:52Z", commit="def456", command=["pytest", "suites", "-q"],
            versions={"iree": {"iree-base": "3.12"}, "new": {"a_b": "2"}}, machine={"cpu": "Other CPU", "cpus": 2},
        ),
        *(after for _, after in (*changed, *alike)),
        export("added", status="unsupported", stage="export", reason="ValueError: no rule for *Foo*\nmore"),
        declared({"check": "export", "model": "declared", "framework": "mxnet"}, "Not provided"),
    ]  # fmt: skip
    for number, row in enumerate((*base, *head)):
        if row["kind"] == "cell":
            row["key"] = f"{number:04d}"
    return base, head


def of(row: Row, **axes: Any) -> Row:
    """The row of another cell."""
    return row | {"cell": row["cell"] | axes}


def _statuses() -> list[tuple[Row, Row]]:
    broken = {"status": "ERROR", "stage": "compile", "result": "failed", "symptom": "exception"}
    again = {"repro": ["suites/test_export.py::test[lstm `x`]", "--bench-models=lstm"]}
    bug = {**broken, "reason": "ValueError: <b>`x`</b> [1] #2 ~3 @me a_b *c* | c\\d"}
    far = {"status": "mismatch", "stage": "compare", "symptom": "mismatch", "result": "failed"}
    return [
        (export("lstm", **NEWER[0]), export("lstm", **NEWER[1], **bug, **again)),
        (export("vgg16", **NEWER[0]), export("vgg16", **NEWER[1], **bug)),
        (export("resnet50", **NEWER[0]), export("resnet50", **NEWER[1], **bug)),
        (export("far"), export("far", **far, reason="out0: E 3.1")),
        (export("farther"), export("farther", **far, reason="out0: E 4.2")),
        (export("mended", **bug), export("mended", versions={"torch": "2.13"})),
        (export("later", **broken), export("later", **{**broken, "stage": "run"})),
        (
            export("known", **{**broken, **KNOWN, "reason": "no Neg"}, **NEWER[0]),
            export("known", **broken, reason="no Neg", **NEWER[1]),
        ),
        (
            export("known too", **{**broken, **KNOWN, "stage": "run", "reason": "no Abs"}, **NEWER[0]),
            export("known too", **{**broken, "stage": "run"}, reason="no Abs", **NEWER[1]),
        ),
        (export("lost"), export("lost", status="unverified", stage="run", unverified="blocked", result="skipped")),
        (export("skewed", **broken), export("skewed", status="version skew", result="skipped", reason="opset 28")),
        (
            export("other", **broken, reason="boom"),
            export("other", **{**broken, "symptom": "crash"}, reason="died", repro=["t.py::t[o]"]),
        ),
        (export("declared as known", **broken), export("declared as known", **{**broken, **KNOWN})),
    ]


def _numbers() -> list[tuple[Row, Row]]:
    def pair(name: str, before: Row, after: Row, **more: Any) -> tuple[Row, Row]:
        rows = [equivalence(numbers=numbers, **more) for numbers in (before, after)]
        return of(rows[0], model=name), of(rows[1], model=name)

    worse, better = pair("E", {"E": 1e-6, "noise_E": 1e-8}, {"E": 5e-6}), pair("E gone", {"E": 2e-6}, {"E": 0.0})
    return [
        (worse[0] | NEWER[0], worse[1] | NEWER[1]), better,
        pair("below the noise", {"E": 1e-9}, {"E": 4e-9, "noise_E": 1e-8}),
        pair("steps", {"worst_steps": 3.0}, {"worst_steps": 0.5}, precision="w8a8"),
        pair("level", {"approximation": {"sqnr_db": 41.0}}, {"approximation": {"sqnr_db": 30.5}}, precision="w8a8"),
        pair("accuracy", {"accuracy": 0.91}, {"accuracy": 0.87}, precision="fp16"),
        pair("more accurate", {"accuracy": 0.85}, {"accuracy": 0.88}),
    ]  # fmt: skip


def _times() -> list[tuple[Row, Row]]:
    noisy = (1.0e-3, 2.0e-3, 0.5e-3, 1.5e-3, 0.7e-3)
    turned = {
        "d": 0.25, "half_width": 0.02, "run": BASE_RUN, "verdict": "slower", "base": {"median": 2e-3},
        "head": {"median": 2.568e-3}, "launches": 6, "effect": 0.05,
    }  # fmt: skip
    pairs = [
        ("slow", timed(**NEWER[0]), timed(1.2, **NEWER[1])),
        ("fast", timed(2.0, **CALIBRATED[0]), timed(1.0, artefact="beef", **CALIBRATED[1])),
        ("alike", timed(3.0), timed(3.0)),
        ("turned", timed(), timed(1.3, against=turned)),
        ("noisy", timed(), timed(launches=noisy)),
        ("noisy with fewer", timed(), timed(launches=noisy[:3])),
        ("drifting", timed(calibration=1e-3), timed(calibration=1.5e-3)),
        ("once", timed(), timed(launches=(1e-3,))),
        ("elsewhere", timed(), timed(host="bbb")),
        ("other threads", timed(), timed(threads=4)),
    ]
    return [(of(before, model=name), of(after, model=name)) for name, before, after in pairs]


def _counts() -> list[tuple[Row, Row]]:
    def row(name: str, instructions: int, flash: int, machine: str = "17") -> Row:
        numbers = {"timing": {"instructions": {"median": instructions}}}
        placed = {"board": BOARD | {"machine_id": machine}, "flash_bytes": flash}
        cell = equivalence(check="timing", numbers=numbers, placement=placed)
        return of(cell, model=name, target="board", board="uno")

    return [
        (row("more", 1_000, 20_000), row("more", 1_234, 19_000)),
        (row("another board", 5_000, 7_000), row("another board", 6_000, 7_000, "18")),
    ]
