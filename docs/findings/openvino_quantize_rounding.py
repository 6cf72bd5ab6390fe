"""OpenVINO 2026.4.1: QuantizeLinear rounds after it has added the zero point.

Rule: ONNX QuantizeLinear 13: y = saturate((x / y_scale) + y_zero_point); 'for (x / y_scale), it's rounding to the nearest even'.
With an odd zero point a tie goes to the other side: round(0.5) + 1 is 1, round(0.5 + 1) is 2.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import helper as h

inputs = {"x": np.array([0.5, 1.5, 2.5], np.float32)}
expected = np.array([1, 3, 3], np.uint8)
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
s = onnx.numpy_helper.from_array(np.array(1, np.float32), "s")
z = onnx.numpy_helper.from_array(np.array(1, np.uint8), "z")
node = h.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])
graph = h.make_graph(
    [node],
    "g",
    ports,
    [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)],
    [s, z],
)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.array_equal(y, expected)))
