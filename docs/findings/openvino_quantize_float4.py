"""OpenVINO 2026.4.1: QuantizeLinear to float4e2m1 is taken for one to float8 and refused.

Rule: ONNX QuantizeLinear 23, T3: float4e2m1 is one of the types of y_zero_point and y. "Bad format for f8 conversion
type". DequantizeLinear takes the type.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 11, opset_import: ["": 23]> g (float[3] x) => (float[3] y) <float s = {0.5}> {
    z = Constant<value = float4e2m1 {0}>()
    q = QuantizeLinear(x, s, z)
    y = DequantizeLinear(q, s)
}
""")
inputs = {"x": np.array([1, -2, 9], np.float32)}
expected = np.array([1, -2, 3], np.float32)
onnx.checker.check_model(model, full_check=True)
print("expected", expected.shape, expected.ravel().tolist())
core = ov.Core()
try:
    compiled = core.compile_model(
        core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    y = compiled(inputs)[0]
except RuntimeError as error:
    print("got      RuntimeError:", " ".join(str(error).split("detailed log:")[-1].split())[:250])
    sys.exit(1)
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.array_equal(y, expected)))
