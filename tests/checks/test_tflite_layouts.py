"""Outputs of onnx2tf, which has channels last: each is put back where it has to be, also where its sizes are equal."""

from __future__ import annotations

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.project import Project

SQUARE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(5)
known = {"w": rng.normal(0, 0.4, (16, 3, 3, 3)).astype("float32"),
         "v": rng.normal(0, 1, (1, 8, 1, 1)).astype("float32"), "third": np.array(3),
         "one": np.array([1])}
NODES = {
    "best": [h.make_node("ArgMax", ["a"], ["best"], axis=1, keepdims=0)],
    "sum": [h.make_node("ReduceSum", ["a", "one"], ["sum"], keepdims=0)],
    "shares": [h.make_node("ReduceSum", ["a", "one"], ["s"], keepdims=0),
               h.make_node("Softmax", ["s"], ["shares"], axis=1)],
    "chosen": [h.make_node("Gather", ["a", "third"], ["chosen"], axis=1)],
    "depth": [h.make_node("Conv", ["a", "v"], ["d"]), h.make_node("Squeeze", ["d", "one"], ["depth"])],
    "rowmax": [h.make_node("ReduceMax", ["a"], ["rowmax"], axes=[-2], keepdims=0)],
    "mean": [h.make_node("ReduceMean", ["a"], ["mean"], axes=[3], keepdims=0)],
    "turned": [h.make_node("Transpose", ["a"], ["turned"], perm=[0, 3, 2, 1])],
    "half": [h.make_node("Conv", ["a", "second"], ["n"], pads=[1, 1, 1, 1]), h.make_node("Add", ["n", "a"], ["m"]),
             h.make_node("Split", ["m"], ["h", "rest"], axis=1), h.make_node("Sigmoid", ["rest"], ["gate"]),
             h.make_node("Mul", ["h", "gate"], ["half"])],
    "gated": [h.make_node("ReduceMean", ["a"], ["m"], axes=[1], keepdims=0),
              h.make_node("Unsqueeze", ["m", "one"], ["u"]), h.make_node("Mul", ["a", "u"], ["gated"])],
}
nodes = [h.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), h.make_node("Relu", ["c"], ["a"])]
kind, value = sys.argv[2], h.make_tensor_value_info
channels = 16 if kind == "half" else 8
known["second"] = rng.normal(0, 0.2, (16, 16, 3, 3)).astype("float32")
known["w"] = known["w"][:channels]
sizes = [8, 8, 8] if kind in ("turned", "gated", "half") else [8, 8]
nodes += NODES[kind]
outputs = [value(kind, 7 if kind == "best" else 1, ["batch", *sizes])]
read = {name for node in nodes for name in node.input}
tensors = [numpy_helper.from_array(x, name) for name, x in known.items() if name in read]
graph = h.make_graph(nodes, "g", [value("x", 1, ["batch", 3, 8, 8])], outputs, tensors)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, sys.argv[1])
"""
# How far is padded is computed as PyTorch's TorchScript exporter computes it, so that shape inference knows no sizes;
# it names the rows "batch", too.
WRONG = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(6)
known = {"w": rng.normal(0, 0.4, (6, 3, 3, 3)), "v": rng.normal(0, 0.3, (4, 6, 3, 3)), "value": np.array(2.5)}
known = {name: x.astype("float32") for name, x in known.items()}
known |= {"given": np.array([2, 0, 1, 1]), "four": np.array([4]), "pairs": np.array([-1, 2]), "end": np.array([-1]),
          "last": np.array([-9223372036854775807]), "zero": np.array([0]), "flat": np.array([-1])}
nodes = [
    h.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), h.make_node("Relu", ["c"], ["a"]),
    h.make_node("ConstantOfShape", ["four"], ["none"], value=numpy_helper.from_array(np.array([0]))),
    h.make_node("Concat", ["given", "none"], ["all"], axis=0), h.make_node("Reshape", ["all", "pairs"], ["p"]),
    h.make_node("Slice", ["p", "end", "last", "zero", "end"], ["r"]),
    h.make_node("Transpose", ["r"], ["t"], perm=[1, 0]), h.make_node("Reshape", ["t", "flat"], ["pads"]),
    h.make_node("Pad", ["a", "pads", "value"], ["k"]), h.make_node("Conv", ["k", "v"], ["y"]),
]
value = h.make_tensor_value_info
tensors = [numpy_helper.from_array(x, name) for name, x in known.items()]
graph = h.make_graph(nodes, "g", [value("x", 1, ["batch", 3, 8, 8])],
                     [value("y", 1, ["batch", 4, "batch", "width"])], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
IN_ORDER = ["best", "sum", "shares", "chosen", "depth", "turned"]
LAST = ["rowmax", "mean", "gated"]
EITHER = ["half"]  # onnx2tf moves the axes back in front of the Split, which is its way and may change
PUT_BACK = "output 0 is put back from channels last"


@pytest.mark.parametrize("kind", [*IN_ORDER, *LAST, *EITHER])
def test_an_output_of_equal_sizes_has_the_order_of_the_file(project: Project, kind: str) -> None:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), SQUARE, "net.onnx", kind)
    row = the_row(project.run("--compilers=tflite", "--precisions=fp32", f"--bench-onnx={path}"))
    assert row["status"] == "supported", row["reason"]
    assert (PUT_BACK in row["placement"].get("notes", [])) == (kind in LAST) or kind in EITHER, row["placement"]


def test_sizes_that_an_exporter_declares_wrongly_are_those_of_the_simplified_graph(project: Project) -> None:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), WRONG, "net.onnx")
    row = the_row(project.run("--compilers=tflite", "--precisions=fp32", f"--bench-onnx={path}"))
    assert row["status"] == "supported", row["reason"]
    assert PUT_BACK in row["placement"]["notes"], row["placement"]["notes"]
