"""Measures predictions: 30 platforms x 11 models x 5 datatypes in at most 1 s; and ``bench needs`` of a large model.

    python benchmarks/predict.py [--model FILE.onnx]

Predictions are of the published platforms with all their modes and of made demands. With ``--model`` the whole command
``bench needs`` is measured on that file, whose budget is 2 s. Ends with 1 where a budget does not hold; times mean
something on a quiet machine only.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from itertools import cycle, islice
from pathlib import Path

from bench_plugin.characterise.prediction.datatypes import USUAL, stored_as
from bench_plugin.characterise.prediction.predict import Demand
from bench_plugin.characterise.prediction.roofs import modes_of
from bench_plugin.cli.shared.predicting.grid import computed
from bench_plugin.inventory.hardware.target_file import read_target

PLATFORMS, MODELS, REPEATS = 30, 11, 9
PREDICTIONS, NEEDS = 1.0, 2.0  # budgets in seconds
TARGETS = Path(__file__).parents[1] / "boards/targets"


def main() -> int:
    """Print every figure beside its budget; 1 where one does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="an ONNX file, the largest that there is")
    arguments = parser.parse_args()
    seconds, count = predictions()
    fine = _said(f"{count} predictions, with the files of targets read", seconds, PREDICTIONS)
    if arguments.model:
        fine &= _said(f"bench needs {arguments.model.name}", needs(arguments.model), NEEDS)
    return 0 if fine else 1


def predictions() -> tuple[float, int]:
    """The median seconds of a grid, and how many pairs it has, empty ones included."""
    demands = [Demand(f"model {number}", 1e9 + number, 1e6 + number, 1e6, 1e5) for number in range(MODELS)]
    stored = [stored_as(name) for name in USUAL]
    taken, pairs = [], 0
    for _ in range(REPEATS):
        began = time.perf_counter()
        files = islice(cycle(sorted(TARGETS.glob("*.toml"))), PLATFORMS)
        modes = [where for path in files for where in modes_of(path.stem, read_target(path))]
        found = computed(demands, modes, stored, (), storage="weights-off-chip", batch=1)
        taken.append(time.perf_counter() - began)
        pairs = len(found.predictions) + len(found.empty)
    return statistics.median(taken), pairs


def needs(model: Path) -> float:
    """The median seconds of the whole command."""
    taken = []
    for _ in range(REPEATS // 2):
        began = time.perf_counter()
        command = [sys.executable, "-m", "bench_plugin.cli.main", "needs", str(model), "--json"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def _said(what: str, seconds: float, budget: float) -> bool:
    fine = seconds <= budget
    print(f"{'ok    ' if fine else 'FAILED'} {what}: {seconds:.3f} s (at most {budget:g} s)")
    return fine


if __name__ == "__main__":
    sys.exit(main())
