"""A BatchNormalization that a tool writes as a product and a sum: the constants of the file that give it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.adapters.test_matched_constants import said

# A norm behind a Relu. The artefact has what it multiplies by and what it adds, each 0.004 off. Prints what the norm of
# the rebuilt file multiplies by and adds beyond what the file's does, and which of the two were put back.
NORM = """
import json, sys
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.matching.onnx_matching import Adapter
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import MatchCall, Place
from onnx import helper, numpy_helper

case, draw = sys.argv[1], np.random.default_rng(5)
known = {"s": draw.uniform(0.5, 2, 6), "t": draw.normal(size=6), "m": draw.normal(size=6), "v": draw.uniform(0.5, 2, 6)}
if case in ("centred", "uncentred"):  # the scale or the shift is what the file has
    known |= {"m": np.zeros(6)} if case == "centred" else {"v": np.full(6, 1 - 1e-5)}
known = {name: values.astype("float32") for name, values in known.items()}
nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("BatchNormalization", ["r", *"stmv"], ["y"])]
if case == "shared":
    nodes.append(helper.make_node("BatchNormalization", ["y", *"stmv"], ["z"]))
shape = [1, 6, 4, 4]
ports = [helper.make_tensor_value_info(name, 1, shape) for name in ("x", nodes[-1].output[0])]
given = [numpy_helper.from_array(values, name) for name, values in known.items()]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], given)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")

def computed(values):
    scale, shift, mean, variance = (values[name].astype("float64") for name in "stmv")
    factor = scale / (variance + np.float32(1e-5)) ** 0.5
    return factor, shift - mean * factor

factor, summand = computed(known)
found = {"product": factor + 0.004, "sum": summand + 0.004}
if case == "alone":
    del found["sum"]
arrays = {f"fix:const:{name}": from_numpy(values) for name, values in found.items()}
arrays |= {f"fix:step:{name}": from_numpy(np.array([0.01])) for name in found}
call = MatchCall(names=tuple(found), weights={})
reply = Adapter().match(call.at(Place(".", {"model.onnx": "model.onnx"}, arrays, lambda stage: None)))
stored = {one.name: numpy_helper.to_array(one) for one in onnx.load(reply.files["rebuilt.onnx"]).graph.initializer}
off = [have - want for have, want in zip(computed(stored), (factor, summand))]
print(json.dumps([[float(one.min()) for one in off], [float(one.max()) for one in off],
                  [row.get("replaced", False) for row in reply.meta["matches"]],
                  [row["tensor"] for row in reply.meta["matches"]]]))
"""


def norm(python: Path, folder: Path, case: str) -> Any:
    """The least and most that product and sum are off, what was put back, and the names in the file."""
    return said(python, folder, NORM, case)


@pytest.mark.parametrize("case", ["both", "centred", "uncentred"])
def test_what_was_read_back_is_what_the_norm_of_the_file_computes(
    tools_python: Path, tmp_path: Path, case: str
) -> None:
    least, most, replaced, names = norm(tools_python, tmp_path, case)
    assert replaced == [True, True] and names == ["s", "t"]
    assert least == pytest.approx([0.004, 0.004], abs=1e-6) and most == pytest.approx([0.004, 0.004], abs=1e-6)


@pytest.mark.parametrize("case", ["alone", "shared"])
def test_a_norm_that_cannot_say_both_is_left_as_it_is(tools_python: Path, tmp_path: Path, case: str) -> None:
    least, most, replaced, _ = norm(tools_python, tmp_path, case)
    assert not any(replaced) and least == most == [0.0, 0.0]
