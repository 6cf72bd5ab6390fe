"""What the plugin adds to pytest's start, and what collecting 10,000 cells costs: CPU seconds, medians of pairs.

    python benchmarks/startup.py [--pairs 11]

Prints, for each case, the median of user+system seconds with and without the plugin, and of their difference.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PLAIN = "import pytest\n@pytest.mark.parametrize('n', range(10_000))\ndef test_x(n):\n    pass\n"
CELLS = "import pytest\n@pytest.mark.bench(check='export')\ndef test_x(bench_cell):\n    bench_cell.verify()\n"
MODEL = """
name = "m{index}"
family = "mlp"
task = "classification"
profiles = ["full"]
[[inputs]]
name = "x"
shape = [1, 8]
[constructors.pytorch]
callable = "torch.nn.Identity"
"""
MODELS = 50
OPSETS = 100
ADAPTER = (
    'ADAPTER = {"name": "pytorch", "kind": "framework", "toolchain": "pytorch", "exporters": %r, "importers": {}}\n'
)


def cpu_seconds(arguments: list[str], folder: Path) -> float:
    """User and system seconds of one pytest process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=False,
        text=True,
    )
    if done.returncode not in (0, 5):
        raise SystemExit(f"pytest {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(name: str, without: list[str], with_plugin: list[str], folder: Path, pairs: int) -> None:
    """Both commands in turn; print medians and the median difference."""
    cpu_seconds(without, folder)
    cpu_seconds(with_plugin, folder)
    measured = [(cpu_seconds(without, folder), cpu_seconds(with_plugin, folder)) for _ in range(pairs)]
    plain = statistics.median(pair[0] for pair in measured)
    ours = statistics.median(pair[1] for pair in measured)
    added = statistics.median(pair[1] - pair[0] for pair in measured)
    print(f"{name}: {plain:.3f} s without, {ours:.3f} s with the plugin, {added:+.3f} s (median of {pairs} pairs)")


def ten_thousand_cells(folder: Path) -> None:
    """50 models x 200 exporters x 1 opset: 10,000 cells of one test."""
    (folder / "models").mkdir()
    for index in range(MODELS):
        (folder / "models" / f"m{index}.toml").write_text(MODEL.format(index=index))
    exporters = {f"e{index}": {"opsets": [1, 20], "opset": 17} for index in range(OPSETS * 2)}
    (folder / "adapter.py").write_text(ADAPTER % exporters)
    (folder / "bench.toml").write_text('models = ["models"]\nadapters = ["adapter.py"]\n')
    (folder / "test_cells.py").write_text(CELLS)
    (folder / "test_plain.py").write_text(PLAIN)


def main() -> None:
    """Run both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=11)
    pairs = parser.parse_args().pairs
    plugin = ["-p", "bench_plugin.plugin"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_one.py").write_text("def test_one():\n    pass\n")
        compare("start, plugin unused", ["test_one.py"], [*plugin, "test_one.py"], folder, pairs)
        ten_thousand_cells(folder)
        quiet = ["--collect-only", "-qq"]
        names = ",".join(f"m{index}" for index in range(MODELS))
        cells = [
            *plugin,
            *quiet,
            "test_cells.py",
            "--frameworks",
            "pytorch",
            "--bench-profile",
            "full",
            "--models",
            names,
        ]
        compare("collect 10,000 cells", [*quiet, "test_plain.py"], cells, folder, max(3, pairs // 2))


if __name__ == "__main__":
    main()
