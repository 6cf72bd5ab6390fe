"""What one operator case costs in each backend: seconds of compiling and running, from the rows of a run.

``python benchmarks/operator_costs.py reports/operators.jsonl``; seconds are the agents' own, in the load of that run.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from pathlib import Path

from bench_plugin.core.results import read_rows

STAGES = ("compile", "run")
CASES = 2033


def main(path: str) -> None:
    """Print a Markdown table: cases that ran, mean, median, and what the whole corpus would take on one core."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for row in read_rows(Path(path)).rows:
        if row["kind"] == "cell" and row["check"] == "operator" and row["timings"]:
            seconds[row["cell"]["compiler"]].append(sum(row["timings"].get(stage, 0.0) for stage in STAGES))
    print("| backend | cases that ran | mean s | median s | whole corpus, min |")
    print("|---|---|---|---|---|")
    for name, found in sorted(seconds.items(), key=lambda item: statistics.mean(item[1])):
        mean, middle = statistics.mean(found), statistics.median(found)
        print(f"| {name} | {len(found)} | {mean:.3f} | {middle:.3f} | {mean * CASES / 60:.1f} |")


if __name__ == "__main__":
    main(sys.argv[1])
