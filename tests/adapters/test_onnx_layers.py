"""The layers of a quantised graph in float64 are what ONNX Runtime computes, also depthwise, joined and pooled ones."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from bench_plugin.reach.environments.toolchains import Toolchains

ROOT = Path(__file__).parents[2]


def test_unrounded_layers_are_within_half_a_step_of_onnx_runtime(tmp_path: Path) -> None:
    script = Path(__file__).with_name("compare_layers.py")
    command = [str(Toolchains().ensure("onnxruntime")), str(script), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    count, _, steps, _, _, mutant = done.stdout.split()
    assert int(count) >= 8 and float(steps) <= 0.51 < 0.75 < float(mutant)
