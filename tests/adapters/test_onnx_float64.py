"""The float64 evaluator's own operators do what ONNX Runtime's do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["compare_operators.py", "compare_recurrent.py"])
def test_operators_agree_with_onnx_runtime(name: str) -> None:
    script = Path(__file__).with_name(name)
    command = [str(Toolchains().ensure("onnxruntime")), str(script), str(ROOT / "bench_plugin/adapters/onnx_tools")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " compared, 0 differ" in done.stdout
