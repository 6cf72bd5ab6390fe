"""ONNX's 2,033 tests through this plugin and through ONNX's own runner, both under pytest, both in onnxruntime.

``python benchmarks/operators.py [RUNS]`` prints the CPU seconds (user and system, of all processes) and the wall-clock
seconds of both, alternating, with the machine's load; which cases pass; and what one selected case costs end to end.
Two comparisons: without tracebacks on either side, and as each is used (the stock runner shows 579 tracebacks, which
takes it longer than the cases do). The corpus and its float64 truths come from the cache, as they do after the first
run; onnxruntime's results do not.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

PR_SET_CHILD_SUBREAPER = 36
TRACEBACKS = ("no", "short")
PYTEST = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py")
STOCK = """
import onnx.backend.test, onnxruntime.backend
globals().update(onnx.backend.test.BackendTest(onnxruntime.backend, __name__).enable_report().test_cases)
"""
CONFTEST = """
import json
def pytest_runtest_logreport(report):
    if report.when == "call":
        with open("passed.txt", "a") as file:
            file.write(f"{report.outcome} {report.nodeid.rpartition('::')[2]}\\n")
def pytest_configure(config):
    config.addinivalue_line("markers", "onnx_coverage: of onnx's runner")
"""


def main() -> None:
    """Print the figures."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sys.path.insert(0, str(ROOT))
        from bench_plugin.reach.environments.toolchains import Toolchains

        python = Toolchains().ensure("onnxruntime")
        (folder / "lib").mkdir()
        for module in PYTEST:
            place = Path(__import__(module).__file__ or "")
            place = place.parent if place.name == "__init__.py" else place
            (folder / "lib" / place.name).symlink_to(place)
        stock_folder = folder / "stock"
        stock_folder.mkdir()
        (stock_folder / "test_stock.py").write_text(STOCK)
        (stock_folder / "conftest.py").write_text(CONFTEST)
        ours_command = command(folder)
        measured(ours_command, folder, ROOT)  # makes the corpus and its truths
        for tracebacks in TRACEBACKS:
            figures: dict[str, list[tuple[float, float]]] = {"stock": [], "ours": []}
            for _ in range(runs):
                (stock_folder / "passed.txt").unlink(missing_ok=True)
                style = f"--tb={tracebacks}"
                selected = ["-q", style, "-p", "no:cacheprovider", "-k", "_cpu", "-W", "ignore"]
                stock_command = [str(python), "-m", "pytest", *selected]
                figures["stock"].append(measured(stock_command, stock_folder, folder / "lib"))
                forget_runs(folder / "cache")
                figures["ours"].append(measured([*ours_command, style], folder, ROOT))
            report(tracebacks, figures)
        compare(stock_folder / "passed.txt", folder / "results.jsonl")
        _, warm = measured(ours_command, folder, ROOT)
        print(f"all cases again, with what onnxruntime gave from the cache: {warm:.1f} s wall")
        one = []
        for _ in range(3):
            forget_runs(folder / "cache")
            one.append(measured([*ours_command, "--bench-cases", "test_add"], folder, ROOT))
        print(f"one selected case: {statistics.median(wall for _, wall in one):.2f} s wall, ", end="")
        print(f"{statistics.median(cpu for cpu, _ in one):.2f} CPU s")
    print("load", os.getloadavg())


def command(folder: Path) -> list[str]:
    """Our pytest over all cases."""
    suite = str(ROOT / "suites" / "operators")
    places = ["--bench-results", str(folder / "results.jsonl"), "--bench-cache", str(folder / "cache")]
    options = ["-q", "-p", "no:cacheprovider", "--bench-profile", "full", *places]
    return [sys.executable, "-m", "pytest", suite, *options, "--rootdir", str(ROOT)]


def forget_runs(cache: Path) -> None:
    """Drop what onnxruntime gave; the corpus and its truths stay."""
    for record in list((cache / "entries").glob("*/*/*/record.json")):
        _digest, _, text = record.read_text().partition("\n")
        if json.loads(text)["stage"] == "run":
            shutil.rmtree(record.parent)


def measured(arguments: Sequence[str], folder: Path, path: Path) -> tuple[float, float]:
    """CPU seconds (user and system, children included) and wall seconds of a command; its status may be 1."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        arguments,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )
    wall = time.perf_counter() - began
    reap()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1) or not done.stdout.strip():
        sys.exit(f"{' '.join(arguments)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    print(done.stdout.strip().splitlines()[-1])
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, wall


def reap() -> None:
    """Wait for what a run left behind: agents whose guardian has ended count too."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def report(tracebacks: str, figures: dict[str, list[tuple[float, float]]]) -> None:
    """Medians and their ratio."""
    print("without tracebacks on either side:" if tracebacks == "no" else f"with tracebacks (--tb={tracebacks}):")
    cpu = {name: statistics.median(one for one, _ in values) for name, values in figures.items()}
    for name, values in figures.items():
        print(f"{name}: {cpu[name]:.1f} CPU s, {statistics.median(wall for _, wall in values):.1f} s wall")
    print(f"ratio {cpu['ours'] / cpu['stock']:.2f}" + (" (at most 0.65)" if tracebacks == "no" else ""))


def compare(stock: Path, rows: Path) -> None:
    """The cases that only one of the two passes."""
    passed = {line.split()[1].removesuffix("_cpu") for line in stock.read_text().splitlines() if line[:6] == "passed"}
    cells = [row for row in map(json.loads, rows.read_text().splitlines()) if row["kind"] == "cell"]
    agreeing = {row["cell"]["model"] for row in cells if row["numbers"].get("stock") == "pass"}
    supported = {row["cell"]["model"] for row in cells if row["status"] == "supported"}
    print(f"stock runner passes {len(passed)}; here {len(agreeing)} by its rule, {len(supported)} by the strict ones")
    for name in sorted(passed - agreeing):
        print(f"  only the stock runner passes {name}")


if __name__ == "__main__":
    main()
