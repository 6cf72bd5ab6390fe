"""OpenVINO 2026.4.1: HardSigmoid with beta = 0 takes the default of 0.5.

Rule: ONNX HardSigmoid 6: y = max(0, min(1, alpha * x + beta)); alpha is 0.2 by default.
Every other beta is right.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import helper as h

inputs = {"x": np.array([1], np.float32)}
expected = np.array([0.2], np.float32)
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("HardSigmoid", ["x"], ["y"], beta=0.0)
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
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected, rtol=1e-5)))
