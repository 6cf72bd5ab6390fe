"""OpenVINO 2026.4.1: ReduceMax of nothing but -Inf is the lowest finite float.

Rule: ONNX ReduceMax 18 gives the largest of the elements, which is -Inf.
A row that an attention masks wholly is not recognised then, and its softmax stays NaN: eight of onnx's own cases.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import helper as h

inputs = {"x": np.array([[-np.inf, -np.inf]], np.float32)}
expected = np.array([-np.inf], np.float32)
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
axes = onnx.numpy_helper.from_array(np.array([1], np.int64), "axes")
node = h.make_node("ReduceMax", ["x", "axes"], ["y"], keepdims=0)
graph = h.make_graph(
    [node],
    "g",
    ports,
    [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)],
    [axes],
)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.array_equal(y, expected)))
