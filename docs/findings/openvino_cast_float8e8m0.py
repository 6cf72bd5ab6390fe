"""OpenVINO 2026.4.1: Cast to float8e8m0 rounds to the nearest power of two, whatever round_mode says.

Rule: ONNX Cast 24, round_mode: "`up` by default. `up`: round to nearest value away from zero, `down`: round to nearest
value towards zero". Float8e8m0 has the powers of two, so that 2.5 becomes 4, and 3.5 with "down" becomes 2. Two of
onnx's own cases.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 12, opset_import: ["": 24]> g (float[1] a, float[1] b) => (float[2] y) {
    u = Cast<to = 24>(a)
    up = Cast<to = 1>(u)
    d = Cast<to = 24, round_mode = "down">(b)
    down = Cast<to = 1>(d)
    y = Concat<axis = 0>(up, down)
}
""")
inputs = {"a": np.array([2.5], np.float32), "b": np.array([3.5], np.float32)}
expected = np.array([4, 2], np.float32)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.array_equal(y, expected)))
