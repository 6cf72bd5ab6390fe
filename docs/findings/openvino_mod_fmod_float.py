"""OpenVINO 2026.4.1: Mod of floats with fmod=0 is refused.

Rule: ONNX Mod 28 takes floats with fmod = 0 as well: the remainder has the sign of the divisor, as in numpy.mod.
Until opset 13 the text demanded fmod = 1 for floats. Six of onnx's own cases.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 13, opset_import: ["": 28]> g (float[2] x, float[2] n) => (float[2] y) {
    y = Mod<fmod = 0>(x, n)
}
""")
inputs = {"x": np.array([-4.5, 5], np.float32), "n": np.array([2, -3], np.float32)}
expected = np.array([1.5, -1], np.float32)
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
