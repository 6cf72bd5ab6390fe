"""OpenVINO 2026.4.1: ReduceMax of int32 is computed in float32: 16777217 comes as 16777216.

Rule: ONNX ReduceMax 13 takes int32 and gives the largest element. ReduceMin, and int64, are the same.
2147483647 comes as -2147483648.
Upstream: https://github.com/openvinotoolkit/openvino/issues/37956 (MatMul of int32, the same cause)
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import helper as h

inputs = {"x": np.array([[16777217], [2147483647]], np.int32)}
expected = np.array([16777217, 2147483647], np.int32)
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("ReduceMax", ["x"], ["y"], axes=[1], keepdims=0)
graph = h.make_graph(
    [node], "g", ports, [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)]
)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.array_equal(y, expected)))
