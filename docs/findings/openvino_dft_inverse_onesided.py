"""OpenVINO 2026.4.1: DFT with inverse and onesided gives no last axis of length 1.

Rule: ONNX DFT 20, output: "For IRFFT (`onesided=1`, `inverse=1`), the output shape is: [...][signal_dimN][1] (real)".
The values are right. Two of onnx's own cases.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 9, opset_import: ["": 20]> g (float[1,3,2] x) => (float[1,4,1] y) <int64 axis = {1}> {
    y = DFT<inverse = 1, onesided = 1>(x, "", axis)
}
""")
inputs = {"x": np.array([[[10, 0], [-2, 2], [-2, 0]]], np.float32)}
expected = np.array([[[1], [2], [3], [4]]], np.float32)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected, rtol=1e-5, atol=1e-6)))
