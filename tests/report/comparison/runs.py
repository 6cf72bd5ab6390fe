"""Runs with times, for tests of comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench_plugin.domain.thresholds import Thresholds
from bench_plugin.report.comparison.changes import Comparison, compare
from tests.report.made import Row, equivalence, header

BASE_RUN, HEAD_RUN = "20261121-204952-1a2b3c", "20261122-204952-4d5e6f"
KNOWN = {"result": "xfailed", "expected": {"reason": "bug"}}
LAUNCHES = (1.000e-3, 1.002e-3, 0.998e-3, 1.001e-3, 0.999e-3)


def between(before: Row | None, after: Row | None, *, thresholds: Thresholds | None = None, **more: Any) -> Comparison:
    sides = [[header(run=run), *([row] if row else [])] for run, row in ((BASE_RUN, before), (HEAD_RUN, after))]
    return compare(sides[0], sides[1], thresholds, **more)


def timed(
    factor: float = 1.0, *, launches: Sequence[float] = LAUNCHES, calibration: float | None = None, host: str = "aaa",
    threads: int = 2, settings: Row | None = None, artefact: str = "f00d", against: Row | None = None, **more: Any,
) -> Row:  # fmt: skip
    """The row of a timed cell whose launches took ``factor`` times their seconds."""
    seconds = [one * factor for one in launches]
    timing: Row = {
        "compute": {"median": sorted(seconds)[len(seconds) // 2], "launch_medians": seconds},
        "conditions": {"threads": threads},
    }
    if calibration is not None:
        kept = [calibration * one for one in (1.0, 1.001, 0.999, 1.0, 1.0)]
        timing["calibration"] = {"workload": "w1", "python": "3.11", "machine": "m", "seconds": kept}
    numbers = {"timing": timing, **({"against": against} if against else {}), **more.pop("numbers", {})}
    return equivalence(
        check="timing", numbers=numbers, host=host, settings=settings or {}, result=more.pop("result", "passed"),
        artefacts={"model.so": {"bytes": 1, "sha256": artefact}},
        versions=more.pop("versions", {"onnxruntime": "1.31"}),
        repro=["suites/performance/test_performance.py::test_timing[x]"], **more,
    )  # fmt: skip
