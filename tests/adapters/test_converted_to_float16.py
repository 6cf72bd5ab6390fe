"""Files that onnxruntime's converter made compute in float16 are valid, or it is said that they are not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Max and Min stay in float32, and so one tensor is cast to it for each of them.
SCRIPT = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper as nh
from bench_plugin.adapters.onnx_tools import onnx_graphs
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.contract import Place, PrepareCall

broken = sys.argv[1] == "broken"
nodes = [h.make_node("Relu", ["x"], ["d"]), h.make_node("Max", ["d", "half"], ["a"]),
         h.make_node("Min", ["d", "half"], ["b"]), h.make_node("Add", ["a", "b"], ["y"])]
value = lambda name: h.make_tensor_value_info(name, 1, [1, 4])
graph = h.make_graph(nodes, "g", [value("x")], [value("y")], [nh.from_array(np.float32(0.5), "half")])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "m.onnx")
if broken:
    onnx_graphs._without_repeats = lambda model: model
place = Place(".", {"model.onnx": "m.onnx"}, {}, lambda stage: None)
try:
    made = onnx_graphs.Adapter().prepare(PrepareCall(graph="fp16", batched=False).at(place)).files["model.onnx"]
except Unsupported as error:
    print(error)
else:
    onnx.checker.check_model(onnx.load(made), full_check=True)
    kinds = [node.op_type for node in onnx.load(made).graph.node]
    print("valid", kinds.count("Max"), kinds.count("Min"))
"""


@pytest.mark.parametrize(
    ("kind", "said"),
    [("whole", "valid 1 1"), ("broken", "onnxruntime's converter to float16 makes an invalid file: Graph must be in ")],
)
def test_a_tensor_that_two_nodes_take_in_float32_is_cast_once(
    tools_python: Path, tmp_path: Path, kind: str, said: str
) -> None:
    command = [str(tools_python), "-c", SCRIPT, kind]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}
    )
    assert done.stdout.splitlines()[-1].startswith(said), done.stdout + done.stderr
