"""onnx 1.23.2, reference evaluator: Softmax before opset 13 is computed as that of opset 13.

Rule: ONNX Softmax 11: the input is coerced into [a_0 * ... * a_{k-1}, a_k * ... * a_{n-1}], where k is the axis, by
default 1. The evaluator has one definition for every opset, along one axis, by default the last one. LogSoftmax and
Hardmax do the same. The evaluator is what other tools are compared with.
Needs onnx==1.23.2 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
from onnx import TensorProto
from onnx import helper as h
from onnx.reference import ReferenceEvaluator

x = np.zeros((1, 2, 2), np.float32)
expected = np.full((1, 2, 2), 0.25, np.float32)  # of four equal elements
node = h.make_node("Softmax", ["x"], ["y"])
ports = [h.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)]
graph = h.make_graph([node], "g", ports, [h.make_tensor_value_info("y", TensorProto.FLOAT, x.shape)])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 11)], ir_version=6)
y = np.asarray(ReferenceEvaluator(model).run(None, {"x": x})[0])
print("expected", expected.ravel().tolist())
print("got     ", y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
