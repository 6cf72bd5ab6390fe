"""What the harness itself costs per cell when every stage is cached: ``python benchmarks/cached.py [MODELS]``.

Runs the tests' fake framework on so many models (two cells each), cold and then three times warm, and prints the
median of the warm runs above that of a run with one model, per cell.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.project import Project, make_project

WARM_RUNS = 3


def main() -> None:
    """Print the cost per cell in milliseconds."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), Toolchains().ensure("onnxruntime"))
        for index in range(count):
            project.model(f"m{index:04}")
        cold = seconds(project, None)
        warm = statistics.median(seconds(project, None) for _ in range(WARM_RUNS))
        single = statistics.median(seconds(project, "m0000") for _ in range(WARM_RUNS))
    cells = 2 * count
    print(f"cold {cold:.1f} s, warm {warm:.2f} s, one model warm {single:.2f} s, {cells} cells")
    print(f"{(warm - single) / (cells - 2) * 1000:.1f} ms per cached cell")


def seconds(project: Project, models: str | None) -> float:
    """Wall-clock seconds of one run, which must be green."""
    started = time.perf_counter()
    finished = project.run("-q", models=models)
    assert finished.code == 0, finished.text
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
