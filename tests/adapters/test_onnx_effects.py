"""What rounding each constant changes: of every output some values, and nothing of graphs that no longer run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SCRIPT = r"""
import json, sys
sys.path.insert(0, sys.argv[1])
folder, case = sys.argv[2:]
import numpy as np, onnx
from onnx import helper as h, numpy_helper as nh
from bench_plugin.adapters.onnx_tools.rounding import onnx_effects
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import Place, PrepareCall

rng = np.random.default_rng(0)
weight = lambda *shape: rng.standard_normal(shape).astype("float32")
value = lambda name, *shape: h.make_tensor_value_info(name, 1, shape)
nodes = [h.make_node("MatMul", ["x", "w"], ["a"]), h.make_node("Add", ["a", "b"], ["y"]),
         h.make_node("ArgMax", ["y"], ["label"], axis=1, keepdims=0)]
weights, outputs = {"w": weight(6, 9), "b": weight(9)}, [value("y", "n", 9)]
outputs.append(h.make_tensor_value_info("label", 7, ["n"]))
if case == "sizes":  # a size that is computed from a constant and the input, so that rounding it changes the shape
    weights["size"] = np.array([9.0004], "float32")
    nodes += [h.make_node("Sub", ["x", "x"], ["d"]), h.make_node("ReduceSum", ["d"], ["nothing"], keepdims=0),
              h.make_node("Add", ["size", "nothing"], ["sum"]),
              h.make_node("Ceil", ["sum"], ["c"]), h.make_node("Cast", ["c"], ["i"], to=7),
              h.make_node("ConstantOfShape", ["i"], ["zeros"]), h.make_node("ReduceSum", ["zeros"], ["none"]),
              h.make_node("Add", ["y", "none"], ["z"]), h.make_node("Shape", ["zeros"], ["s"]),
              h.make_node("Expand", ["none", "s"], ["e"])]
    outputs.append(value("e", "m"))
if case == "many":
    for index in range(401):
        weights[f"m{index}"] = weight(1)
        nodes.append(h.make_node("Add", ["y", f"m{index}"], [f"s{index}"]))
stored = dict(weights)
if case == "nodes":  # two constants that are nodes, of which the first has to be exact again when the second is rounded
    del stored["b"]
    weights["c"] = weight(9)
    nodes[1:2] = [h.make_node("Constant", [], ["b"], value=nh.from_array(weights["b"], "b")),
                  h.make_node("Constant", [], ["c"], value=nh.from_array(weights["c"], "c")),
                  h.make_node("Add", ["a", "b"], ["s"]), h.make_node("Add", ["s", "c"], ["y"])]
graph = h.make_graph(nodes, "g", [value("x", "n", 6)], outputs, [nh.from_array(v, n) for n, v in stored.items()])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), folder + "/m.onnx")
inputs = weight(12, 6)
place = Place(folder, {"model.onnx": folder + "/m.onnx"}, {"calib:x": from_numpy(inputs)}, lambda stage: None)
try:
    reply = onnx_effects.Adapter().prepare(PrepareCall(graph="w16-all", batched=True).at(place))
except Unsupported as error:
    sys.exit(str(error))
half = lambda name: weights[name].astype("float16").astype("float64")
double = inputs.astype("float64")
exact = double @ weights["w"].astype("float64") + weights["b"].astype("float64")
if case == "nodes":
    exact = exact + weights["c"].astype("float64")
found = {name: to_numpy(array) for name, array in reply.arrays.items()}
where = found["places:out0"]
expected = {"exact:out0": exact, "0:out0": double @ half("w") + weights["b"], "1:out0": double @ weights["w"].astype(
    "float64") + half("b")}
if case == "nodes":
    rest = exact - weights["b"] - weights["c"]
    expected = {"exact:out0": exact, "0:out0": exact - rest + double @ half("w"),
                "1:out0": rest + half("b") + weights["c"], "2:out0": rest + weights["b"].astype("float64") + half("c")}
json.dump({"names": sorted(found), "constants": reply.meta["constants"], "values": len(where),
           "off": {name: float(abs(y.reshape(-1)[where] - found[name]).max()) for name, y in expected.items()},
           "effect": float(abs(found["0:out0"] - found["exact:out0"]).max())}, sys.stdout)
"""


def effects(python: Path, folder: Path, case: str) -> Any:
    command = [str(python), "-c", SCRIPT, str(ROOT), str(folder), case]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


def test_the_effects_are_those_of_float64_of_outputs_with_real_numbers(tools_python: Path, tmp_path: Path) -> None:
    found = effects(tools_python, tmp_path, "plain")
    assert found["names"] == ["0:out0", "1:out0", "exact:out0", "places:out0"]
    assert found["constants"] == [
        {"name": "w", "weight": True, "of": ""}, {"name": "b", "weight": False, "of": ""},
    ]  # fmt: skip
    assert max(found["off"].values()) < 1e-12 and found["effect"] > 1e-5
    assert found["values"] == 2 * 9  # two of the twelve inputs give enough values for two constants


def test_constants_that_are_nodes_are_rounded_one_by_one_too(tools_python: Path, tmp_path: Path) -> None:
    found = effects(tools_python, tmp_path, "nodes")
    assert [row["name"] for row in found["constants"]] == ["w", "b", "c"]
    assert max(found["off"].values()) < 1e-12 and found["effect"] > 1e-5


def test_a_constant_whose_rounding_changes_a_shape_has_no_effect_of_its_own(tools_python: Path, tmp_path: Path) -> None:
    found = effects(tools_python, tmp_path, "sizes")
    assert [row["name"] for row in found["constants"]] == ["w", "b", "size"]
    assert "1:out0" in found["names"] and "2:out0" not in found["names"]


def test_too_many_constants_are_refused(tools_python: Path, tmp_path: Path) -> None:
    assert "the file has 403 constants that float16 changes, more than 400" in effects(tools_python, tmp_path, "many")
