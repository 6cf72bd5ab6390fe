"""Layers behind an output whose size has a name of its own: it is not known, and not taken for 1."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
# The first half of the columns, whose number is computed from the shape, twice side by side; "m" is 6.
SCRIPT = r"""
import json, sys
sys.path.insert(0, sys.argv[1])
folder = sys.argv[2]
import numpy as np, onnx
from onnx import helper as h, numpy_helper as nh
from bench_plugin.adapters.onnx_tools import onnx_graphs
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import LayersCall, Place, PrepareCall

rng = np.random.default_rng(0)
weights = {"w": rng.standard_normal((6, 6)).astype("float32"), "v": rng.standard_normal((6, 3)).astype("float32"),
           "zero": np.array([0]), "one": np.array([1]), "two": np.array([2])}
nodes = [h.make_node("MatMul", ["x", "w"], ["a"]), h.make_node("Shape", ["a"], ["sizes"]),
         h.make_node("Gather", ["sizes", "one"], ["columns"]), h.make_node("Div", ["columns", "two"], ["half"]),
         h.make_node("Slice", ["a", "zero", "half", "one"], ["s"]), h.make_node("Concat", ["s", "s"], ["z"], axis=1),
         h.make_node("Mul", ["z", "z"], ["q"]), h.make_node("MatMul", ["q", "v"], ["y"])]
value = lambda name, *shape: h.make_tensor_value_info(name, 1, shape)
graph = h.make_graph(nodes, "g", [value("x", "n", 6)], [value("z", "n", "m"), value("y", "n", 3)],
                     [nh.from_array(values, name) for name, values in weights.items()])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), folder + "/m.onnx")
inputs = {"calib:x": from_numpy(rng.standard_normal((8, 6)).astype("float32"))}
place = Place(folder, {"model.onnx": folder + "/m.onnx"}, inputs, lambda stage: None)
made = onnx_graphs.Adapter().prepare(PrepareCall(graph="qdq", batched=True).at(place)).files["model.onnx"]
place = Place(folder, {"model.onnx": made}, {}, lambda stage: None)
layers = onnx_graphs.Adapter().layers(LayersCall(binding={"n": 1}).at(place)).meta
json.dump({row["name"].partition("_")[0]: row["shape"] for row in layers["inputs"]}, sys.stdout)
"""


def test_a_size_that_nobody_knows_is_not_taken_for_one(tools_python: Path, tmp_path: Path) -> None:
    command = [str(tools_python), "-c", SCRIPT, str(ROOT), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    shapes = json.loads(done.stdout.splitlines()[-1])
    assert (shapes["x"], shapes["q"]) == ([1, 6], [1, 0]), "0 stands for what is not known"
