"""What an engine costs per cell: ``python benchmarks/engines.py [MODELS]`` compares dask with ``--bench-jobs``.

Runs the tests' fake framework on so many models (two cells each) with two cells side by side: in this process's own
engine, on two workers of a Dask cluster on loopback with one thread each, and on one worker with two threads. Each does
it cold (every stage is made) and three times warm (every stage is cached, so that the harness alone is left). Printed
are wall-clock milliseconds per cell, of warm runs above that of a run with one model, the same of processor time of all
processes, scheduler and workers included, and the machine's load, without which wall-clock times say little.

The file has not the name of the package that it is about, because a script's folder comes first where modules are
looked for.
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.project import Project, make_project
from tests.session.engines.cluster import Cluster, cluster

WARM_RUNS = 3
TICKS = os.sysconf("SC_CLK_TCK")
Processor = Callable[[], float]


@dataclass(frozen=True)
class Cost:
    """Seconds of a run: by the clock on the wall, and of processors in all processes."""

    wall: float
    processor: float


def main() -> None:
    """Print the table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(f"{2 * count} cells, two side by side; load of the machine before: {os.getloadavg()[0]:.1f}")
    print("engine                  cold: wall ms/cell  CPU ms/cell   warm: wall ms/cell  CPU ms/cell")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        root = Path(folder)
        show("local, --bench-jobs 2", root / "local", count, ["--bench-jobs=2"], None)
        for title, workers, threads in (("dask, 2 workers", 2, 1), ("dask, 1 worker of 2", 1, 2)):
            made = stack.enter_context(cluster(root / title))
            names = [f"n{index}" for index in range(workers)]
            for name in names:
                made.worker(name, threads=threads)
            made.await_workers(*names)
            arguments = ["--bench-engine=dask", f"--bench-scheduler={made.address}"]
            show(title, root / f"project of {title}", count, arguments, made)
    print(f"load of the machine after: {os.getloadavg()[0]:.1f}")


def show(title: str, folder: Path, count: int, arguments: Sequence[str], computers: Cluster | None) -> None:
    """Measure one engine and print its line."""
    folder.mkdir()
    project = make_project(folder, Toolchains().ensure("onnxruntime"))
    for index in range(count):
        project.model(f"m{index:04}")
    cold = measured(project, arguments, None, computers)
    warm = [measured(project, arguments, None, computers) for _ in range(WARM_RUNS)]
    single = [measured(project, arguments, "m0000", computers) for _ in range(WARM_RUNS)]
    cells = 2 * count - 2

    def per_cell(kind: Callable[[Cost], float]) -> float:
        return (statistics.median(map(kind, warm)) - statistics.median(map(kind, single))) / cells * 1000

    wall, processor = per_cell(lambda cost: cost.wall), per_cell(lambda cost: cost.processor)
    print(
        f"{title:22}{cold.wall / (2 * count) * 1000:20.1f}{cold.processor / (2 * count) * 1000:13.1f}"
        f"{wall:21.1f}{processor:13.1f}"
    )


def measured(project: Project, arguments: Sequence[str], models: str | None, computers: Cluster | None) -> Cost:
    """One run, which must be green."""
    began, before = time.perf_counter(), spent(computers)
    finished = project.run("-q", *arguments, models=models)
    assert finished.code == 0, finished.text
    return Cost(time.perf_counter() - began, spent(computers) - before)


def spent(computers: Cluster | None) -> float:
    """Seconds of processors: of the processes that have ended below this one, and of the cluster's."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    running = [pid for name in computers.processes for pid in computers.below(name)] if computers else []
    return ended.ru_utime + ended.ru_stime + sum(map(_ticks, running)) / TICKS


def _ticks(pid: int) -> int:
    """Of a process and of those below it that it has waited for (proc(5): utime, stime, cutime, cstime)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11:15]))


if __name__ == "__main__":
    main()
