"""Biases that a tool may have corrected are beside what the file adds right behind the weight, or beside nothing."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.docs.fences import ROOT

# In the toolchain's own interpreter: a file of each kind, its weights, and a bias that is 0.05 off what the file adds.
SCRIPT = """
import json, sys
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.matching.onnx_matching import Adapter
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import MatchCall, Place
from onnx import helper as h, numpy_helper as nh

kind = sys.argv[1]
draw = np.random.default_rng(1)
w, b, c = draw.normal(size=(6, 4)), draw.normal(size=4), draw.normal(size=4)
s, stack = draw.uniform(0.5, 2, 4), draw.normal(size=(3, 1, 4))
made, written, first, shape = {"w": w, "b": b, "c": c}, w, "MatMul", [1, 6]
behind, expected = ["b"], b
if kind == "none":
    behind, expected = [], np.zeros(4)
if kind == "scaled":  # a product that is multiplied in
    behind, written, expected, made = ["b", "*s"], w * s, b * s, {**made, "s": s}
if kind == "not scaled":  # and one that is not
    behind, made = ["b", "*s"], {**made, "s": s}
if kind in ("two", "first of two"):
    behind, expected = ["b", "c"], b + c if kind == "two" else b
if kind == "stack":
    written = draw.normal(size=(3, 6, 4))
    made, behind, expected, shape = {"w": written, "stack": stack}, ["stack"], stack, [3, 1, 6]
if kind == "number":
    made, behind, expected = {"w": w, "n": np.array([0.4])}, ["n"], np.array([0.4])
if kind == "front":  # what is in front is multiplied in: which bias stands where is not known
    written, made = w * draw.uniform(0.5, 2, (6, 1)), {**made, "f": np.ones(6)}
if kind == "size":
    expected = np.tile(b, 2)
nodes, last = [h.make_node(first, ["x", "w"], ["p"])], "p"
for name in behind:
    nodes.append(h.make_node("Mul" if name[0] == "*" else "Add", [last, name.strip("*")], [last + name[-1]]))
    last += name[-1]
tensors = [nh.from_array(values.astype("float32"), name) for name, values in made.items()]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, shape)],
                     [h.make_tensor_value_info(last, 1, None)], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "model.onnx")
if kind == "front":  # a product in front of the weights, which they take in
    model = onnx.load("model.onnx")
    factor = nh.from_array((written / w)[:, 0].astype("float32"), "f")
    model.graph.node.insert(0, h.make_node("Mul", ["x", "f"], ["xf"]))
    model.graph.node[1].input[0] = "xf"
    [model.graph.initializer.remove(one) for one in list(model.graph.initializer) if one.name == "f"]
    model.graph.initializer.append(factor)
    onnx.save(model, "model.onnx")
given = {"W": written, "B": expected + 0.05}
arrays = {f"fix:const:{name}": from_numpy(np.array(values, order="C")) for name, values in given.items()}
arrays |= {f"fix:step:{name}": from_numpy(np.array(0.01 if name == "W" else 1e-6)) for name in given}
call = MatchCall(names=("W", "B"), weights={"B": "W"}, floating=("B",), corrected=("B",))
reply = Adapter().match(call.at(Place(".", {"model.onnx": "model.onnx"}, arrays, lambda stage: None)))
[row] = [row for row in reply.meta["matches"] if row["name"] == "B"]
found = to_numpy(reply.arrays["file:B"]) if "file:B" in reply.arrays else None
off = None if found is None or found.shape != expected.shape else float(abs(found - expected).max())
print(json.dumps([row["tensor"], off, bool(row.get("replaced"))]))
"""


def matched(tools_python: Path, folder: Path, kind: str) -> Any:
    """What a corrected bias is beside, and by how much that is off what the file adds; None where that is not known."""
    done = subprocess.run(
        [str(tools_python), "-c", SCRIPT, kind], cwd=folder, text=True, capture_output=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("kind", "tensor"),
    [
        ("one", "b"),
        ("none", "zeros"),
        ("scaled", "s"),
        ("not scaled", "b"),
        ("two", "c"),
        ("first of two", "b"),
        ("stack", "stack"),
        ("number", "n"),
    ],
)
def test_a_corrected_bias_is_beside_what_the_file_adds_there(
    tools_python: Path, tmp_path: Path, kind: str, tensor: str
) -> None:
    found, off, replaced = matched(tools_python, tmp_path, kind)
    assert found == tensor and off < 1e-6
    assert not replaced, "the file keeps its own"


@pytest.mark.parametrize("kind", ["front", "size"])
def test_where_it_is_not_known_what_the_file_adds_it_is_beside_nothing(
    tools_python: Path, tmp_path: Path, kind: str
) -> None:
    assert matched(tools_python, tmp_path, kind) == ["", None, False]
