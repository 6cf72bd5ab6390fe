"""OpenVINO 2026.4.1: DynamicQuantizeLinear computes x * 255 / (max - min), not x / y_scale, and rounds another way.

Rule: ONNX DynamicQuantizeLinear 11: y_scale = (maximum(0, max(x)) - minimum(0, min(x))) / (qmax - qmin) and
y = saturate(round(x / y_scale) + y_zero_point). The values are those of onnx's own case test_dynamicquantizelinear.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 8, opset_import: ["": 11]> g (float[6] x) => (uint8[6] y, float s, uint8 z) {
    y, s, z = DynamicQuantizeLinear(x)
}
""")
inputs = {"x": np.array([0, 2, -3, -2.5, 1.34, 0.5], np.float32)}
expected = np.array([153, 255, 0, 26, 221, 179], np.uint8)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.array_equal(y, expected)))
