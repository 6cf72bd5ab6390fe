"""How long until an emulated Linux board, which is switched off, has given its first verdict: its image is cached.

    python benchmarks/board_start.py [--rounds 3] [--board qemu-aarch64-linux]

Runs digits_cnn at fp32 through onnxruntime on the board, and takes the time from the start of pytest to the row with
the verdict. Nothing comes from the cache of stages: the model is exported and compiled, and the emulator starts anew.
The first round, which also makes what is missing of toolchains and of the runtime, is not counted. The aim is 60 s.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
POLL_SECONDS = 0.05


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--board", default="qemu-aarch64-linux")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _verdict(args.board, Path(folder, "first"))
        found = [_verdict(args.board, Path(folder, str(number))) for number in range(args.rounds)]
    print(f"{args.board}: {statistics.median(found):.1f} s to the first verdict ({min(found):.1f} to {max(found):.1f})")


def _verdict(board: str, folder: Path) -> float:
    """Seconds from the start of pytest to the row of a cell that the board ran. Raises SystemExit for another row."""
    results = folder / "results.jsonl"
    cell = ["--models=digits_cnn", "--frameworks=pytorch", "--compilers=onnxruntime", "--precisions=fp32"]
    options = ["-q", "-p", "no:cacheprovider", "--bench-refresh", f"--targets={board}", f"--bench-results={results}"]
    command = [sys.executable, "-m", "pytest", str(ROOT / "suites" / "equivalence"), *cell, *options]
    began = time.monotonic()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        row, seconds = None, 0.0
        while row is None and running.poll() is None:
            time.sleep(POLL_SECONDS)
            row, seconds = _row(results), time.monotonic() - began
        said, _ = running.communicate()
    row = row or _row(results)
    if row is None or row["status"] != "supported" or row["placement"]["board"]["name"] != board:
        raise SystemExit(f"no verdict of {board}: {row and row['reason']}\n{said}")
    return seconds


def _row(results: Path) -> dict[str, Any] | None:
    """The row of the first cell, once its line is whole."""
    lines = results.read_text("utf-8").splitlines(keepends=True) if results.exists() else []
    rows = [json.loads(line) for line in lines if line.endswith("\n")]
    return next((row for row in rows if row["kind"] == "cell"), None)


if __name__ == "__main__":
    main()
