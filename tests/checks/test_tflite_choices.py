"""TFLite's int8: elements that indices choose are read back with these; sums that overflow are a mismatch."""

from __future__ import annotations

import pytest

from tests.project import Project
from tests.read_back_tflite import both, is_read_in_full, planted

# Experts of which the two with the largest scores are mixed; and messages that are added up where they arrive.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(0)
floats = {"w": rng.normal(0, 1, (6, 5)), "table": rng.normal(0, 1, (5, 7, 3)), "empty": np.zeros((3, 5)),
          "wide": rng.normal(0, 1, (6, 9)), "low": np.array(-1.03), "high": np.array(1.57),
          "scale": rng.uniform(0.5, 2, 5)}
wholes = {"square": [-1, 3, 3], "row": [-1, 9], "two": [2], "axis": [1], "to": [[0], [1], [0], [2], [0], [1]]}
experts = [
    h.make_node("MatMul", ["x", "w"], ["scores"]),
    h.make_node("TopK", ["scores", "two"], ["best", "places"], axis=1),
    h.make_node("Softmax", ["best"], ["shares"], axis=1),
    h.make_node("Gather", ["table", "places"], ["chosen"], axis=0),
    h.make_node("Reshape", ["shares", "shape"], ["column"]),
    h.make_node("Mul", ["chosen", "column"], ["parts"]),
    h.make_node("ReduceSum", ["parts", "axis"], ["y"], keepdims=0),
]
messages = [
    h.make_node("MatMul", ["x", "w"], ["m"]),
    h.make_node("ScatterND", ["empty", "to", "m"], ["sums"], reduction="add"),
    h.make_node("Tanh", ["sums"], ["y"]),
]
largest = [
    h.make_node("MatMul", ["x", "w"], ["m"]),
    h.make_node("ArgMax", ["m"], ["place"], axis=1),
    h.make_node("Cast", ["place"], ["number"], to=1),
    h.make_node("Mul", ["m", "number"], ["y"]),
]
numbered = [
    h.make_node("MatMul", ["x", "wide"], ["m"]),
    h.make_node("Reshape", ["m", "square"], ["s"]),
    h.make_node("Transpose", ["s"], ["t"], perm=[0, 2, 1]),
    h.make_node("Reshape", ["t", "row"], ["r"]),
    h.make_node("ArgMax", ["r"], ["y"], axis=1, keepdims=0),
]
# Two comparisons, of which what is between them is kept; and what a minimum and a norm without a bias leave.
between = [
    h.make_node("MatMul", ["x", "w"], ["m"]),
    h.make_node("Greater", ["m", "low"], ["above"]),
    h.make_node("Less", ["m", "high"], ["below"]),
    h.make_node("And", ["above", "below"], ["kept"]),
    h.make_node("Mul", ["m", "high"], ["more"]),
    h.make_node("Where", ["kept", "more", "m"], ["y"]),
]
normed = [
    h.make_node("MatMul", ["x", "w"], ["m"]),
    h.make_node("LayerNormalization", ["m", "scale"], ["n"]),
    h.make_node("ReduceMin", ["n"], ["y"], axes=[1]),
]
running = [
    h.make_node("MatMul", ["x", "w"], ["m"]),
    h.make_node("CumSum", ["m", "along"], ["s"]),
    h.make_node("Tanh", ["s"], ["y"]),
]
kinds = {"experts": experts, "messages": messages, "largest": largest, "running": running, "numbered": numbered,
         "between": between, "normed": normed}
nodes = kinds[sys.argv[2]]
shape = [6, 6] if nodes is messages else ["batch", 6]
wholes["along"] = 1
wholes["shape"] = [-1, 2, 1, 1]
read = {name for node in nodes for name in node.input}
tensors = [numpy_helper.from_array(np.array(values, "float32"), name) for name, values in floats.items()]
tensors += [numpy_helper.from_array(np.array(values, "int64"), name) for name, values in wholes.items()]
value = lambda name, size, kind=1: h.make_tensor_value_info(name, kind, size)
made = value("y", None, 7 if nodes is numbered else 1)
graph = h.make_graph(nodes, "g", [value("x", shape)], [made], [t for t in tensors if t.name in read])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.save(onnx.shape_inference.infer_shapes(model), sys.argv[1])
"""
# What a Transpose changes is left as it is.
UNMOVED = """
    order = model.buffers[graph.tensors[int(node.inputs[1])].buffer]
    order.data = numpy.array([0, 1, 2], "int32").view("uint8")
    changed += 1
"""
# The experts in another order.
OTHERS = """
    table = model.buffers[graph.tensors[int(node.inputs[0])].buffer]
    values = numpy.array(table.data, "uint8").reshape(5, -1)
    table.data = values[::-1].reshape(-1)
    changed += 1
"""


def test_what_the_largest_scores_choose_is_read_back(project: Project) -> None:
    for row in both(project, MAKE, "experts"):
        is_read_in_full(row, "TOPK_V2")
        is_read_in_full(row, "GATHER")


@pytest.mark.parametrize(
    ("kind", "operator"),
    [("largest", "ARG_MAX"), ("running", "CUMSUM"), ("between", "LOGICAL_AND"), ("normed", "REDUCE_MIN")],
)
def test_numbers_comparisons_and_running_sums_are_read_back(project: Project, kind: str, operator: str) -> None:
    for row in both(project, MAKE, kind):
        is_read_in_full(row, operator)


def test_an_output_of_numbers_is_proven_as_a_whole(project: Project) -> None:
    for row in both(project, MAKE, "numbered"):
        is_read_in_full(row, "TRANSPOSE")


def test_other_elements_that_are_chosen_from_are_a_mismatch(project: Project) -> None:
    """Every layer is right, and the one output is of integers."""
    row = planted(project, MAKE, "numbered", "TRANSPOSE", UNMOVED)
    assert row["status"] == "mismatch", row
    assert row["reason"].startswith("the layers are right one by one, but are not the model: E "), row["reason"]


def test_other_experts_in_the_artefact_are_a_mismatch(project: Project) -> None:
    row = planted(project, MAKE, "experts", "GATHER", OTHERS)
    assert row["status"] == "mismatch", row


def test_sums_of_integers_that_leave_their_zero_out_are_a_mismatch(project: Project) -> None:
    for row in both(project, MAKE, "messages"):
        assert row["status"] == "mismatch", row
        assert "layer SCATTER_ND" in row["reason"], row["reason"]
