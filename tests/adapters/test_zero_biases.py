"""Zeros for a bias in an artefact: right where the file has none or it is added later, wrong where it was dropped."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.docs.fences import ROOT

# In the toolchain's own interpreter: a convolution [4, 3, 3, 3] with what is behind it, and what an artefact has of it.
SCRIPT = """
import json, sys
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.matching.onnx_matching import Adapter
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import MatchCall, Place
from onnx import TensorProto, helper, numpy_helper

said = json.loads(sys.argv[1])
draw = np.random.default_rng(5)
known = {"w": draw.normal(size=(4, 3, 3, 3)), "b": draw.normal(size=4), "s": draw.uniform(0.5, 2, 4),
         "t": draw.normal(size=4), "m": draw.normal(size=4), "v": draw.uniform(0.5, 2, 4),
         "u": draw.normal(size=(7, 4)), "d": draw.normal(size=4), "other": draw.normal(size=4)}
known = {name: values.astype("float32") for name, values in known.items()}
norm = helper.make_node("BatchNormalization", ["c", "s", "t", "m", "v"], ["n"], epsilon=1e-3)
nodes = {
    "plain": [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Relu", ["c"], ["y"])],
    "bias": [helper.make_node("Conv", ["x", "w", "b"], ["c"]), helper.make_node("Relu", ["c"], ["y"])],
    "norm": [helper.make_node("Conv", ["x", "w"], ["c"]), norm, helper.make_node("Relu", ["n"], ["y"])],
    "both": [helper.make_node("Conv", ["x", "w", "b"], ["c"]), norm, helper.make_node("Relu", ["n"], ["y"])],
    "shared": [helper.make_node("Conv", ["x", "w"], ["c"]), norm,
               helper.make_node("Concat", ["c", "n"], ["y"], axis=1)],
    "gemm": [helper.make_node("Gemm", ["x", "u", "d"], ["c"]), helper.make_node("Relu", ["c"], ["y"])],
    "product": [helper.make_node("MatMul", ["x", "u"], ["c"]), helper.make_node("Add", ["d", "c"], ["y"])],
}[said["file"]]
dense = said["file"] in ("gemm", "product")
shapes = {"x": [2, 7] if dense else [1, 3, 8, 8], "y": None}
ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
given = [numpy_helper.from_array(values, name) for name, values in known.items()]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], given)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")

wide = {name: values.astype("float64") for name, values in known.items()}
factor = wide["s"] / np.sqrt(wide["v"] + said["epsilon"])
shift = wide["t"] - wide["m"] * factor
step = 0.01
weights = wide["u"] if dense else wide["w"] * (factor.reshape(4, 1, 1, 1) if said["folded"] else 1)
found = {"w8": weights * (0 if said["no_weights"] else 1), "b8": np.zeros(4)}
values = {**wide, "shift": shift, "b*f+shift": wide["b"] * factor + shift, "factor": factor,
          "b+0.6": wide["b"] + 0.6 * step, "zeros": np.zeros(4)}
belongs = {"b8": "w8"}
for place, name in enumerate(said["later"]):
    found[f"later{place}"] = values[name].reshape(1, 1, 4)
    if name not in ("factor", "zeros"):
        belongs[f"later{place}"] = "w8"
arrays = {}
for name, one in found.items():
    arrays[f"fix:const:{name}"] = from_numpy(np.ascontiguousarray(one))
    arrays[f"fix:step:{name}"] = from_numpy(np.array([step]))
place = Place(".", {"model.onnx": "model.onnx"}, arrays, lambda stage: None)
reply = Adapter().match(MatchCall(names=tuple(found), weights=belongs).at(place))
print(json.dumps({row["name"]: row for row in reply.meta["matches"]}))
"""


def matched(
    python: Path,
    folder: Path,
    file: str,
    *later: str,
    folded: bool = False,
    epsilon: float = 1e-3,
    no_weights: bool = False,
) -> dict[str, Any]:
    """The rows by name: ``b8`` are the zeros, ``later0`` ... what the artefact adds or multiplies by later."""
    said = {"file": file, "later": later, "folded": folded, "epsilon": epsilon, "no_weights": no_weights}
    done = subprocess.run(
        [str(python), "-c", SCRIPT, json.dumps(said)], cwd=folder, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows: dict[str, Any] = json.loads(done.stdout)
    assert rows["w8"]["steps"] < 1e-3 and rows["w8"]["tensor"] in (("",) if no_weights else ("w", "u"))
    return rows


@pytest.mark.parametrize("file", ["plain", "shared"])
def test_a_layer_that_has_no_bias_may_have_zeros(tools_python: Path, tmp_path: Path, file: str) -> None:
    row = matched(tools_python, tmp_path, file)["b8"]
    assert (row["tensor"], row["found"], row["steps"]) == ("no bias", False, 0.0)


ADDED_LATER = [("bias", "b", False), ("norm", "shift", False), ("norm", "shift", True), ("both", "b*f+shift", True),
               ("gemm", "d", False), ("product", "d", False)]  # fmt: skip


@pytest.mark.parametrize(("file", "later", "folded"), ADDED_LATER)
def test_a_bias_that_is_added_later_is_compared_there(
    tools_python: Path, tmp_path: Path, file: str, later: str, folded: bool
) -> None:
    rows = matched(tools_python, tmp_path, file, later, folded=folded)
    assert rows["b8"]["tensor"] == "no bias" and rows["b8"]["steps"] == 0
    assert rows["later0"]["found"] and rows["later0"]["steps"] < 1e-3, rows


@pytest.mark.parametrize("file", ["bias", "norm", "both", "gemm", "product"])
def test_a_bias_that_was_dropped_is_off(tools_python: Path, tmp_path: Path, file: str) -> None:
    row = matched(tools_python, tmp_path, file, folded=file == "both")["b8"]
    assert row["found"] and row["tensor"] in "btd" and row["steps"] > 10


@pytest.mark.parametrize(
    ("file", "later", "folded", "least"),
    [
        ("bias", "b+0.6", False, 0.59),
        ("bias", "other", False, 10),  # another constant of the file
        ("both", "b", True, 10),  # the norm is in the weights, but not in what is added
    ],
)
def test_a_later_sum_of_something_else_is_off(
    tools_python: Path, tmp_path: Path, file: str, later: str, folded: bool, least: float
) -> None:
    row = matched(tools_python, tmp_path, file, later, folded=folded)["later0"]
    assert row["found"] and row["steps"] > least, row


def test_a_norm_that_stands_alone_is_compared_too(tools_python: Path, tmp_path: Path) -> None:
    rows = matched(tools_python, tmp_path, "shared", "factor", "shift")
    assert [rows[name]["tensor"] for name in ("later0", "later1")] == ["s", "t"]
    assert max(rows[name]["steps"] for name in ("later0", "later1")) < 1e-3
    rows = matched(tools_python, tmp_path, "shared", "factor", "shift", epsilon=3e-2)
    assert rows["later0"]["steps"] > 0.6 and rows["later0"]["found"], "another epsilon"


def test_zeros_that_are_like_no_constant_are_no_weights_of_the_file(tools_python: Path, tmp_path: Path) -> None:
    """They may be added by what has no bias, while zeros for the weights of a layer with a bias are no constant."""
    rows = matched(tools_python, tmp_path, "norm", "zeros", folded=True)
    assert (rows["later0"]["tensor"], rows["later0"]["replaced"], rows["later0"]["found"]) == ("zeros", True, False)
    rows = matched(tools_python, tmp_path, "norm", folded=True, no_weights=True)
    assert not rows["w8"]["found"]
