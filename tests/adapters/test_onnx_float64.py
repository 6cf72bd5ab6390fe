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


ZEROS = r"""
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np, onnx
from onnx import helper as h
from bench_plugin.adapters.onnx_tools import onnx_float64
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import EvaluateCall, Place

nodes = [h.make_node("Shape", ["x"], ["s"]), h.make_node("ConstantOfShape", ["s"], ["zeros"]),
         h.make_node("Add", ["x", "zeros"], ["y"])]
value = lambda name: h.make_tensor_value_info(name, 1, ["n", 3])
graph = h.make_graph(nodes, "g", [value("x")], [value("y")])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[2])
x = np.arange(6, dtype="float32").reshape(2, 3)
place = Place("", {"model.onnx": sys.argv[2]}, {"in:x": from_numpy(x)}, lambda stage: None)
call = EvaluateCall(batched=True, ragged=False, perturb=None, samples=2).at(place)
y = to_numpy(onnx_float64.Adapter().evaluate(call).arrays["out0"])
print(y.dtype, (y == x).all())
"""


def test_zeros_of_a_shape_are_of_float64_too_where_their_type_is_the_default(tmp_path: Path) -> None:
    command = [str(Toolchains().ensure("onnxruntime")), "-c", ZEROS, str(ROOT), str(tmp_path / "zeros.onnx")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "float64 True\n", done.stderr
