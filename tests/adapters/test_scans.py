"""Scan in the float64 evaluator, with every axis and direction, against ONNX Runtime."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# A sum that decays; it and its square are scanned out of an input of 2 x 3 x 4.
SCRIPT = """
import json, sys
import numpy as np, onnx, onnxruntime
from onnx import helper as h, numpy_helper as nh
from bench_plugin.adapters.onnx_tools import onnx_float64
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import EvaluateCall, Place

ways = json.loads(sys.argv[1])
axis = ways.get("scan_input_axes", [0])[0]
x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype("float32")
inner = [size for place, size in enumerate(x.shape) if place != axis]
value = lambda name, shape=None: h.make_tensor_value_info(name, 1, shape)
nodes = [h.make_node("Mul", ["s", "half"], ["d"]), h.make_node("Add", ["d", "e"], ["t"]),
         h.make_node("Identity", ["t"], ["o"]), h.make_node("Mul", ["t", "t"], ["q"])]
body = h.make_graph(nodes, "body", [value("s", inner), value("e", inner)],
                    [value("t", inner), value("o", inner), value("q", inner)])
scan = h.make_node("Scan", ["start", "x"], ["last", "y", "z"], num_scan_inputs=1, body=body, **ways)
start = nh.from_array(np.ones(inner, "float32"), "start")
graph = h.make_graph([scan], "g", [value("x", x.shape)], [value("last"), value("y"), value("z")],
                     [start, nh.from_array(np.float32(0.5), "half")])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "m.onnx")
theirs = onnxruntime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"]).run(None, {"x": x})
place = Place(".", {"model.onnx": "m.onnx"}, {"in:x": from_numpy(x[None])}, lambda stage: None)
reply = onnx_float64.Adapter().evaluate(EvaluateCall(samples=1, batched=False).at(place))
ours = [to_numpy(reply.arrays[f"out{index}"])[0] for index in range(3)]
assert [y.shape for y in ours] == [y.shape for y in theirs], (ours, theirs)
print("RESULT", max(float(abs(a - b).max()) for a, b in zip(ours, theirs)) < 1e-6)
"""


@pytest.mark.parametrize(
    "ways",
    [
        "{}", '{"scan_input_directions": [1]}', '{"scan_output_directions": [1, 0]}',
        '{"scan_input_axes": [1], "scan_output_axes": [2, -1]}',
        '{"scan_input_axes": [2], "scan_input_directions": [1], "scan_output_directions": [0, 1], '
        '"scan_output_axes": [1, 0]}',
    ],
)  # fmt: skip
def test_axes_and_directions_are_those_of_onnxruntime(tools_python: Path, tmp_path: Path, ways: str) -> None:
    done = subprocess.run(
        [str(tools_python), "-c", SCRIPT, ways], cwd=tmp_path, text=True, capture_output=True, timeout=120,
        env={"PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "RESULT True"
