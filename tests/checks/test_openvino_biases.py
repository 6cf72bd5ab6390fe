"""OpenVINO's int8: biases that NNCF corrects are put back, so that whatever else differs from the file is noticed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.adapters.compilers import openvino
from bench_plugin.compare.table import DEFAULTS
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, compiles, the_row, write_file
from tests.project import Project

SCRIPT = """
import sys
import numpy as np, onnx
from onnx import helper as h
kind, fault = sys.argv[2], sys.argv[3]
rng = np.random.default_rng(2)
known = {"t": rng.normal(size=(20, 16)), "a": rng.normal(0, 0.4, (16, 32)), "ab": rng.normal(0, 0.5, 32),
         "b": rng.normal(0, 0.3, (32, 32)), "bb": rng.normal(0, 0.5, 32), "half": np.array(0.5),
         "c": rng.normal(0, 0.3, (32, 6)), "cb": rng.normal(size=6)}
if fault == "half":
    known["half"] *= 1.02
if fault == "barely":
    known["half"] *= 1.001
if fault == "one channel":
    known["ab"][7] *= 1.3
if fault in ("t", "bb"):
    known[fault] *= 1.05 if fault == "t" else 0
inputs, first = [h.make_tensor_value_info("x", 1, ["n", 16])], "x"
nodes = []
if kind == "table":
    inputs, first = [h.make_tensor_value_info("i", 7, ["n", 3])], "g"
    nodes = [h.make_node("Gather", ["t", "i"], ["g"])]
nodes += [h.make_node("MatMul", [first, "a"], ["am"]), h.make_node("Add", ["am", "ab"], ["aa"]),
          h.make_node("Relu", ["aa"], ["u"]), h.make_node("MatMul", ["u", "b"], ["bm"]),
          h.make_node("Add", ["bm", "bb"], ["ba"]), h.make_node("Tanh", ["ba"], ["v"]),
          h.make_node("Mul", ["v", "half"], ["w"]), h.make_node("Add", ["u", "w"], ["s"])]
if kind == "joined":  # of which NNCF gives all one range
    nodes += [h.make_node("Softmax", ["ba"], ["k"], axis=1), h.make_node("ReduceMax", ["s"], ["m"], axes=[1]),
              h.make_node("Tile", ["m", "times"], ["mm"]), h.make_node("Concat", ["mm", "k"], ["j"], axis=1)]
    known |= {"c": rng.normal(0, 0.3, (64, 6))}
if kind == "conv":  # whose biases NNCF does not correct
    known |= {"k": rng.normal(0, 0.3, (32, 3, 3, 3))}
    inputs = [h.make_tensor_value_info("x", 1, ["n", 3, 6, 6])]
    nodes = [h.make_node("Conv", ["x", "k", "ab"], ["f"]), h.make_node("Relu", ["f"], ["r"]),
             h.make_node("GlobalAveragePool", ["r"], ["p"]), h.make_node("Flatten", ["p"], ["s"])]
last = "j" if kind == "joined" else "s"
nodes += [h.make_node("MatMul", [last, "c"], ["cm"]), h.make_node("Add", ["cm", "cb"], ["y"])]
read = {name for node in nodes for name in node.input}
tensors = [onnx.numpy_helper.from_array(v.astype("float32"), name) for name, v in known.items() if name in read]
tensors += [onnx.numpy_helper.from_array(np.array([1, 32]), "times")] * (kind == "joined")
graph = h.make_graph(nodes, "g", inputs, [h.make_tensor_value_info("y", 1, None)], tensors)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.save(onnx.shape_inference.infer_shapes(model), sys.argv[1])
"""


def quantised(project: Project, kind: str, compiler: str = "openvino") -> Mapping[str, Any]:
    """The row of OpenVINO's own w8a8 of a small network of this kind."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), SCRIPT, "net.onnx", kind, "")
    finished = project.run(f"--compilers={compiler}", "--precisions=w8a8", f"--bench-onnx={path}", "-k", "own")
    return the_row(finished)


def planted(project: Project, kind: str, fault: str) -> Mapping[str, Any]:
    """The row of an OpenVINO that compiles another file: one with the fault."""
    write_file(project, Toolchains().ensure("onnxruntime"), SCRIPT, "wrong.onnx", kind, fault)
    source = Path(openvino.__file__).read_text("utf-8").replace('"name": "openvino"', '"name": "planted"')
    read = 'core.read_model(call.files["model.onnx"])'
    assert source.count(read) == 1, "the place where the file is read"
    source = source.replace(read, f"core.read_model({str(project.folder / 'wrong.onnx')!r})")
    compiles(project, project.write("planted.py", source))
    return quantised(project, kind, compiler="planted")


def test_with_the_biases_of_the_file_the_layers_are_the_model(project: Project) -> None:
    row = quantised(project, "plain")
    assert row["status"] == "supported", row["reason"]
    numbers = row["numbers"]
    assert numbers["whole_E"] < 1e-6 < numbers["corrected_E"] < DEFAULTS.converter_whole, numbers
    assert "by approximation" not in row["flags"], row["flags"]


@pytest.mark.parametrize("kind", ["table", "joined"])
def test_tables_are_compared_and_ranges_may_be_shared_across_what_moves_values(project: Project, kind: str) -> None:
    row = quantised(project, kind)
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["whole_E"] < 1e-6 and row["numbers"]["converter"]["compared"] == 3 + (kind == "table")
    assert "by approximation" not in row["flags"], row["flags"]


@pytest.mark.parametrize(
    ("kind", "fault", "said"),
    [
        (
            "plain",
            "half",
            r"the layers are right one by one, but are not the model: E \S+ without any rounding and with",
        ),
        ("plain", "bb", r"the layers are right one by one, but are not the model: E \S+ without any rounding;"),
        (
            "conv",
            "one channel",
            r"converter: 1 of 32 numbers of the bias of Convolution up to \S+ from ab of the file, ",
        ),
        ("table", "t", r"converter: weight of Gather up to \d"),
    ],
)
def test_what_differs_from_the_file_is_a_mismatch(project: Project, kind: str, fault: str, said: str) -> None:
    row = planted(project, kind, fault)
    assert row["status"] == "mismatch", row
    assert re.match(said, row["reason"]), row["reason"]
    if fault == "half":
        assert row["numbers"]["whole_E"] < DEFAULTS.converter_whole, "as much as corrected biases may be off"


def test_what_changes_the_whole_by_a_few_ten_thousandths_is_a_mismatch(project: Project) -> None:
    row = planted(project, "plain", "barely")
    assert row["status"] == "mismatch", row
    assert DEFAULTS.converter_exact < row["numbers"]["whole_E"] < 1e-3, "another epsilon changes as little"
