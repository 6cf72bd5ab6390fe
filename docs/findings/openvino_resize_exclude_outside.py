"""OpenVINO 2026.4.1: Resize ignores exclude_outside.

Rule: ONNX Resize 19, exclude_outside: "If set to 1, the weight of sampling locations outside the tensor will be set to
0 and the weight will be renormalized so that their sum is 1.0". OpenVINO repeats the edge instead.
Cubic, 2 elements to 4, half_pixel: the places are -0.25, 0.25, 0.75 and 1.25. Two of onnx's own cases.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 9, opset_import: ["": 19]> g (float[1,1,1,2] x) => (float[1,1,1,4] y) <float[4] s = {1, 1, 1, 2}> {
    y = Resize<mode = "cubic", cubic_coeff_a = -0.5, exclude_outside = 1>(x, "", s)
}
""")
inputs = {"x": np.array([[[[1, 2]]]], np.float32)}


def cubic(place, a=-0.5):
    """Keys' kernel over the two elements that exist, its weights divided by their sum."""
    d = np.abs(place - np.arange(2))
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    weights = np.where(d <= 1, near, far)
    return float(weights @ [1, 2] / weights.sum())


expected = np.array([[cubic(-0.25), cubic(0.25), cubic(0.75), cubic(1.25)]], np.float32)[None, None]
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected, rtol=1e-5, atol=1e-6)))
