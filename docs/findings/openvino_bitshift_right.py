"""OpenVINO 2026.4.1: BitShift RIGHT of a negative int32 divides by a power of two, so it rounds towards 0.

Rule: ONNX BitShift 28: "For a signed T the right shift is an arithmetic shift", which rounds down: -3 >> 1 is -2. An
amount that is negative, or the width and more, gives "-1 for a right shift on a negative X [...] and 0 in every other
case". Six of onnx's own cases; a negative amount becomes a division by 0.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 13, opset_import: ["": 28]> g (int32[4] x, int32[4] n) => (int32[4] y) {
    y = BitShift<direction = "RIGHT">(x, n)
}
""")
inputs = {"x": np.array([-3, -1, -8, 8], np.int32), "n": np.array([1, 1, 40, 40], np.int32)}
expected = np.array([-2, -1, -1, 0], np.int32)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.array_equal(y, expected)))
