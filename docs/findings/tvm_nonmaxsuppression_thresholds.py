"""apache-tvm 0.27.0.post1: NonMaxSuppression ignores its thresholds where they are inputs of the graph.

Rule: NonMaxSuppression 11, inputs 2 to 4: max_output_boxes_per_class, iou_threshold, score_threshold are tensors,
constant or not. The frontend takes 0, 0.5 and 0 for those that are no constants, without a word; with 0 boxes per class
nothing is selected.
Upstream: https://github.com/apache/tvm/issues/19544 is about the same default.
Needs: pip install apache-tvm==0.27.0.post1 onnx numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
import tvm
from onnx import helper
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


def run(model, *inputs):
    onnx.checker.check_model(model, full_check=True)
    machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
    found = machine["main"](*[tvm.runtime.tensor(x) for x in inputs])
    return [y.numpy() for y in ([found] if hasattr(found, "numpy") else found)]


def port(name, x):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)


boxes = np.array([[[0, 0, 1, 1], [0, 10, 1, 11]]], np.float32)
scores = np.array([[[0.9, 0.8]]], np.float32)
given = {
    "b": boxes,
    "s": scores,
    "most": np.array([2]),
    "iou": np.array([0.5], np.float32),
    "low": np.array([0], np.float32),
}
expected = np.array([[0, 0, 0], [0, 0, 1]])
node = helper.make_node("NonMaxSuppression", list(given), ["y"])
graph = helper.make_graph([node], "g", [port(name, x) for name, x in given.items()], [port("y", expected)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)
got = run(model, *given.values())[0]
print("expected", expected.tolist())
print("got     ", got.tolist())
sys.exit(0 if np.array_equal(got, expected) else 1)
