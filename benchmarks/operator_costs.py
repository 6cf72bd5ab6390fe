"""What one operator case costs in each backend, and whether that is within its budget, from the rows of a run.

``python benchmarks/operator_costs.py reports/operators.jsonl`` prints a Markdown table; seconds are the agents' own, in
the load of that run. Budgets are in ``fixtures/operators/budgets.toml``; exit code 1 where a mean is beyond its own.
"""

from __future__ import annotations

import statistics
import sys
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench_plugin.results.rows import read_rows

BUDGETS = Path(__file__).resolve().parents[1] / "fixtures" / "operators" / "budgets.toml"
STAGES = ("compile", "run")
CASES = 2033


def main(path: Path) -> int:
    """Print the table; 1 where a budget is passed."""
    budgets: Mapping[str, float] = tomllib.loads(BUDGETS.read_text("utf-8"))["seconds_per_case"]
    print("| backend | cases that ran | mean s | median s | whole corpus, min | budget, s a case |")
    print("|---|---|---|---|---|---|")
    beyond = []
    for name, found in sorted(seconds(path).items(), key=lambda item: statistics.mean(item[1])):
        mean, middle = statistics.mean(found), statistics.median(found)
        budget = budgets.get(name, 0.0)
        figures = f"{mean:.3f} | {middle:.3f} | {mean * CASES / 60:.1f} | {budget or 'none'}"
        print(f"| {name} | {len(found)} | {figures} |")
        beyond += [f"{name}: {mean:.3f} s a case, its budget is {budget} s"] if 0 < budget < mean else []
    print(*beyond, sep="\n", file=sys.stderr)
    return 1 if beyond else 0


def seconds(path: Path) -> Mapping[str, Sequence[float]]:
    """Compiling and running every case that ran, by backend."""
    found: dict[str, list[float]] = defaultdict(list)
    for row in read_rows(path).rows:
        if row["kind"] == "cell" and row["check"] == "operator" and row["timings"]:
            found[row["cell"]["compiler"]].append(sum(row["timings"].get(stage, 0.0) for stage in STAGES))
    return found


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
