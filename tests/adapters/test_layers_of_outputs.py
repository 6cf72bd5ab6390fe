"""Sizes of layers behind an output whose size has a name of its own: those that runs show, and never 1 for unknown."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
# The first columns, whose number is computed, twice side by side: half of all, or as many as values are positive.
SCRIPT = r"""
import json, sys
sys.path.insert(0, sys.argv[1])
folder, rule = sys.argv[2:4]
import numpy as np, onnx
from onnx import helper as h, numpy_helper as nh
from bench_plugin.adapters.onnx_tools import onnx_graphs
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import LayersCall, Place, PrepareCall

rng = np.random.default_rng(0)
weights = {"w": rng.standard_normal((6, 6)).astype("float32"), "v": rng.standard_normal((1, 3)).astype("float32"),
           "zero": np.array([0]), "one": np.array([1]), "two": np.array([2]), "none": np.array(0, "float32")}
count = {
    "half": [h.make_node("Shape", ["a"], ["sizes"]), h.make_node("Gather", ["sizes", "one"], ["columns"]),
             h.make_node("Div", ["columns", "two"], ["count"])],
    "positive": [h.make_node("Greater", ["x", "none"], ["signs"]), h.make_node("Cast", ["signs"], ["ones"], to=7),
                 h.make_node("ReduceSum", ["ones", "one"], ["sum"]), h.make_node("Reshape", ["sum", "one"], ["count"])],
}
nodes = [h.make_node("MatMul", ["x", "w"], ["a"]), *count[rule],
         h.make_node("Slice", ["a", "zero", "count", "one"], ["s"]), h.make_node("Concat", ["s", "s"], ["z"], axis=1),
         h.make_node("Mul", ["z", "z"], ["q"]),
         h.make_node("ReduceMax", ["q"], ["t"], axes=[1]), h.make_node("MatMul", ["t", "v"], ["y"])]
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


def sizes_of_inputs(python: Path, folder: Path, rule: str) -> dict[str, list[int]]:
    command = [str(python), "-c", SCRIPT, str(ROOT), str(folder), rule]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    shapes: dict[str, list[int]] = json.loads(done.stdout.splitlines()[-1])
    return shapes


def test_a_size_that_inference_does_not_find_is_that_of_a_run(tools_python: Path, tmp_path: Path) -> None:
    shapes = sizes_of_inputs(tools_python, tmp_path, "half")
    assert (shapes["x"], shapes["q"]) == ([1, 6], [1, 6])


def test_a_size_that_depends_on_values_is_not_known(tools_python: Path, tmp_path: Path) -> None:
    shapes = sizes_of_inputs(tools_python, tmp_path, "positive")
    assert (shapes["x"], shapes["q"]) == ([1, 6], [1, 0]), "0 stands for what is not known"
