"""The emulation of precisions: integers that float32 may round to either side are rounded to both."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.docs.fences import ROOT

# 255 and 0 set the range, so that the scale is 1; two values lie beside and in the middle of two integers.
SCRIPT = """
import json, sys
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.onnx_emulate import Adapter
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import EmulateCall, Place
from onnx import helper as h

below, above = np.nextafter(np.float32(111.5), np.float32(0)), np.nextafter(np.float32(110.5), np.float32(200))
x = np.array([[0, 255, below, above, 111.4999, 110.501]], "float32")
nodes = [h.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
         h.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])]
value = lambda name: h.make_tensor_value_info(name, 1, [1, 6])
if sys.argv[1] == "static":
    nodes = [h.make_node("Relu", ["x"], ["y"])]
graph = h.make_graph(nodes, "g", [value("x")], [value("y")])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "model.onnx")
place = Place(".", {"model.onnx": "model.onnx"}, {"in:x": from_numpy(x)}, lambda stage: None)
reply = Adapter().emulate(EmulateCall(samples=1, batched=True).at(place))
print(json.dumps({name: to_numpy(values).ravel().tolist() for name, values in reply.arrays.items()}))
"""


def emulated(python: Path, folder: Path, kind: str) -> dict[str, list[float]]:
    done = subprocess.run(
        [str(python), "-c", SCRIPT, kind], cwd=folder, text=True, capture_output=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_what_lies_beside_the_middle_of_two_integers_is_rounded_to_both(tools_python: Path, tmp_path: Path) -> None:
    found = emulated(tools_python, tmp_path, "dynamic")
    assert found["fp32:out0"] == [0, 255, 111, 111, 111, 111]
    assert found["fp32-up:out0"] == [0, 255, 112, 111, 111, 111]
    assert found["fp32-down:out0"] == [0, 255, 111, 110, 111, 111]


def test_a_file_without_such_integers_is_emulated_by_its_precisions_alone(tools_python: Path, tmp_path: Path) -> None:
    assert {name.split(":")[0] for name in emulated(tools_python, tmp_path, "static")} == {
        "fp32", "tf32", "w16", "fp16", "wbf16", "bf16",
    }  # fmt: skip
