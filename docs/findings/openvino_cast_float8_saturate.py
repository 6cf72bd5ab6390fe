"""OpenVINO 2026.4.1: Cast to float8e4m3fn ignores saturate: 1000 becomes NaN.

Rule: ONNX Cast 19, saturate: true by default; the operator's first table says FLT_MAX (448) for x > FLT_MAX.
Float8e5m2 gives Inf for 57344. Twelve of onnx's own cases.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import helper as h

inputs = {"x": np.array([1000, -1000], np.float32)}
expected = np.array([448, -448], np.float32)
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("Cast", ["x"], ["e"], to=onnx.TensorProto.FLOAT8E4M3FN)
back = h.make_node("Cast", ["e"], ["y"], to=onnx.TensorProto.FLOAT)
graph = h.make_graph(
    [node, back],
    "g",
    ports,
    [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)],
)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 19)], ir_version=9)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.array_equal(y, expected)))
