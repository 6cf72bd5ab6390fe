"""OpenVINO 2026.4.1: Resize ignores antialias.

Rule: ONNX Resize 18, antialias: 'if set to 1, linear and cubic interpolation modes will use an antialiasing filter when
downscaling'.
With a scale of 1/2 the linear filter is twice as wide: along one axis the first of 1, 2, 3, 4 is
(0.25 * 1 + 0.75 * 1 + 0.75 * 2 + 0.25 * 3) / 2 = 1.625, the edge being repeated.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import helper as h

inputs = {"x": np.arange(1, 17, dtype=np.float32).reshape(1, 1, 4, 4)}
expected = np.array([[[[4.125, 5.875], [11.125, 12.875]]]], np.float32)
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
s = onnx.numpy_helper.from_array(np.array([1, 1, 0.5, 0.5], np.float32), "s")
node = h.make_node("Resize", ["x", "", "s"], ["y"], mode="linear", antialias=1)
graph = h.make_graph(
    [node], "g", ports, [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)], [s]
)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected, rtol=1e-5)))
