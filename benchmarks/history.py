"""`bench history` with a year of nights: how long its queries take, how large the index is, and what a night costs.

``python benchmarks/history.py`` makes 365 runs of 5,000 cells as exports in Parquet, indexes them, and asks every
question five times. ``--nights`` and ``--cells`` make it smaller; ``--json FILE`` writes the figures.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from bench_plugin.results.index.making import update
from bench_plugin.results.index.queries import cells_named, failures, flaky, history, runs
from bench_plugin.results.index.store import opened
from bench_plugin.results.index.trends import moved_most, trends_of
from bench_plugin.results.tables.columns import LOSSLESS
from bench_plugin.results.tables.files import write_tables

FIRST = datetime(2026, 1, 1, 2, tzinfo=UTC)
TIMES = 5
LIMIT = 0.2  # seconds of a query
COMPILERS = tuple(f"compiler{number}" for number in range(10))
PRECISIONS = ("fp32", "fp16", "w8a8", "w8", "bf16")
STAGES = ("compile", "run", "compare")


class Night:
    """The cells of a project, whose outcomes change a little from night to night."""

    def __init__(self, cells: int) -> None:
        self._random = random.Random(0)
        self._axes = [_axes(number) for number in range(cells)]
        self._failing = [self._random.random() < 0.1 for _ in self._axes]
        self._times = [self._random.lognormvariate(-7, 1) for _ in self._axes]

    def rows(self, night: int) -> Iterator[dict[str, Any]]:
        """The rows of the next night."""
        begun = FIRST + timedelta(days=night)
        run = f"{begun:%Y%m%d-%H%M%S}-{night:06x}"
        common = {"schema": 1, "run": run}
        yield common | {
            "kind": "header", "started": f"{begun:%Y-%m-%dT%H:%M:%SZ}", "commit": f"{night:012x}",
            "machine": {"cpu": "Some CPU", "cpus": 8}, "bench_plugin": "0.1.0",
        }  # fmt: skip
        yield common | {"kind": "plan", "count": len(self._axes), "total": len(self._axes), "hash": "h"}
        for number, axes in enumerate(self._axes):
            if self._random.random() < 0.003:
                self._failing[number] = not self._failing[number]
            yield common | self._cell(number, axes, night)

    def _cell(self, number: int, axes: dict[str, Any], night: int) -> dict[str, Any]:
        failing = self._failing[number]
        seconds = self._times[number] * self._random.lognormvariate(0, 0.02)
        return {
            "kind": "cell", "key": f"{number * 1000 + night // 30:012x}", "cell": axes, "check": axes["check"],
            "status": "ERROR" if failing else "supported", "result": "failed" if failing else "passed",
            "stage": STAGES[number % 3] if failing else None, "symptom": "exception" if failing else None,
            "reason": f"failed to legalize operation 'torch.operator{number % 97}'" if failing else "", "host": "abc",
            "numbers": {"E": self._random.lognormvariate(-12, 1), "timing": {"percentiles": {"p50": seconds}}},
            "versions": {"compiler": f"1.{night // 30}"},
        }  # fmt: skip


def _axes(number: int) -> dict[str, Any]:
    compiler, precision = COMPILERS[number % 10], PRECISIONS[number // 10 % 5]
    return {
        "check": "timing", "model": f"model{number // 50:03d}", "framework": "pytorch", "exporter": "dynamo",
        "opset": 17, "compiler": compiler, "precision": precision, "target": "local",
    }  # fmt: skip


def main() -> int:
    """Print the figures; 1 when a query took longer than it may."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--cells", type=int, default=5000)
    parser.add_argument("--json", type=Path, help="write the figures into this file")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-history-"))
    try:
        found = measured(folder, args.nights, args.cells)
    finally:
        shutil.rmtree(folder)
    for name, figure in found.items():
        print(f"{name:40} {figure:.6g}")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    slow = [name for name, figure in found.items() if name.startswith("query: ") and figure > LIMIT]
    print(f"slower than {LIMIT} s: {', '.join(slow) or 'none'}")
    return 1 if slow else 0


def measured(folder: Path, nights: int, cells: int) -> dict[str, float]:
    """Figures by name: seconds, and bytes where the name says so."""
    night, index = Night(cells), folder / "index.duckdb"
    exports = [folder / f"night-{number:03d}" for number in range(nights)]
    began = time.perf_counter()
    for number, export in enumerate(exports):
        write_tables(night.rows(number), export, "parquet", LOSSLESS)
    made = time.perf_counter() - began
    began = time.perf_counter()
    update(index, exports[:-1], folder / "results.jsonl", print)
    indexed = time.perf_counter() - began
    began = time.perf_counter()
    update(index, exports, folder / "results.jsonl", print)
    found = {
        "one night as Parquet": made / nights,
        "bytes of a night as Parquet": sum(path.stat().st_size for path in folder.glob("night-*/*")) / nights,
        "one night into the index": indexed / max(1, nights - 1),
        "the last night, by a command": time.perf_counter() - began,
        "bytes of the index": index.stat().st_size,
    }
    return found | _asked(index, nights)


def _asked(path: Path, nights: int) -> dict[str, float]:
    began = time.perf_counter()
    with opened(path) as index:
        found = {"opening the index": time.perf_counter() - began}
        every = [one["run"] for one in runs(index)]
        since = every[nights * 5 // 6]
        (cell,) = cells_named(index, ["model003", "compiler4", "w8"])
        known = cells_named(index, ["model003"])
        questions: dict[str, Callable[[], object]] = {
            "the runs": lambda: runs(index),
            "a cell by words": lambda: cells_named(index, ["model003", "compiler4", "w8"]),
            "a cell by its key": lambda: cells_named(index, [f"{154 * 1000:012x}"]),
            "a cell's history": lambda: history(index, cell),
            "new failures of the last 60 nights": lambda: failures(index, since),
            "new failures since the first night": lambda: failures(index, every[0]),
            "flaky cells of 30 nights": lambda: flaky(index, 30),
            "trends of 50 cells": lambda: trends_of(index, known),
            "the cells whose time moved most": lambda: moved_most(index, 20),
        }
        for name, question in questions.items():
            found[f"query: {name}"], found[f"processor time: {name}"] = _medians(question)
        return found


def _medians(question: Callable[[], object]) -> tuple[float, float]:
    """Seconds, and processor seconds of all threads, which a busy machine changes less."""
    times, work = [], []
    for _ in range(TIMES):
        began, worked = time.perf_counter(), time.process_time()
        question()
        times.append(time.perf_counter() - began)
        work.append(time.process_time() - worked)
    return median(times), median(work)


if __name__ == "__main__":
    raise SystemExit(main())
