"""What one operator case costs in each backend, and what it may cost.

``python benchmarks/operator_costs.py measure`` runs 50 cases, spread over categories and operators, in every backend
one after the other, without what the cache holds of them; it prints the table, and a budget of three times the mean.
``python benchmarks/operator_costs.py check reports/operators.jsonl`` compares the mean of a run with the budgets in
``fixtures/operators/budgets.toml``; exit code 1 where a backend is beyond. Seconds are the agents' own.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench_plugin.core.cases import read_cases
from bench_plugin.core.results import read_rows

ROOT = Path(__file__).resolve().parents[1]
OPERATORS = ROOT / "fixtures" / "operators"
BACKENDS = ("onnxruntime", "reference", "mnn", "openvino", "tvm", "emx", "tflite", "ncnn", "iree")
STAGES = ("compile", "run")
COUNT, MARGIN = 50, 3


def main() -> int:
    """0, or 1 where a budget is passed."""
    if sys.argv[1:] == ["measure"]:
        return measure()
    if len(sys.argv) == 3 and sys.argv[1] == "check":
        return check(Path(sys.argv[2]))
    raise SystemExit(__doc__)


def measure() -> int:
    """Print a Markdown table: cases that ran, mean, median, the whole corpus on one core, the budget."""
    names = ",".join(spread())
    print("| backend | cases that ran | mean s | median s | whole corpus, min | budget, s a case |")
    print("|---|---|---|---|---|---|")
    whole = len(read_cases(OPERATORS / "corpus.csv"))
    with tempfile.TemporaryDirectory() as folder:
        for backend in BACKENDS:
            rows = Path(folder) / f"{backend}.jsonl"
            command = [sys.executable, "-m", "pytest", "-q", str(ROOT / "suites/operators"), "--bench-cases", names]
            where = ["--compilers", backend, "--bench-results", str(rows), "--bench-cache", f"{folder}/cache"]
            subprocess.run([*command, *where], cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
            found = seconds(rows)[backend]
            mean = statistics.mean(found)
            figures = f"{mean:.3f} | {statistics.median(found):.3f} | {mean * whole / 60:.1f} | {MARGIN * mean:.2g}"
            print(f"| {backend} | {len(found)} | {figures} |", flush=True)
    return 0


def check(path: Path) -> int:
    """Say which backends are beyond their budget."""
    budgets: Mapping[str, float] = tomllib.loads((OPERATORS / "budgets.toml").read_text("utf-8"))["seconds_per_case"]
    code = 0
    for backend, found in sorted(seconds(path).items()):
        mean = statistics.mean(found)
        if backend not in budgets:
            print(f"{backend}: {mean:.3f} s a case, it has no budget")
        elif mean > budgets[backend]:
            print(f"{backend}: {mean:.3f} s a case, its budget is {budgets[backend]} s")
            code = 1
        else:
            print(f"{backend}: {mean:.3f} s a case, within {budgets[backend]} s")
    return code


def spread() -> Sequence[str]:
    """Cases at equal distances in the order of category and first operator; networks are left out."""
    cases = [case for case in read_cases(OPERATORS / "corpus.csv").values() if case.category != "light"]
    ordered = sorted(cases, key=lambda case: (case.category, case.operators, case.name))
    return [ordered[index * len(ordered) // COUNT].name for index in range(COUNT)]


def seconds(path: Path) -> Mapping[str, Sequence[float]]:
    """Compiling and running every case that ran, by backend."""
    found: dict[str, list[float]] = defaultdict(list)
    for row in read_rows(path).rows:
        if row["kind"] == "cell" and row["check"] == "operator" and row["timings"]:
            found[row["cell"]["compiler"]].append(sum(row["timings"].get(stage, 0.0) for stage in STAGES))
    return found


if __name__ == "__main__":
    sys.exit(main())
