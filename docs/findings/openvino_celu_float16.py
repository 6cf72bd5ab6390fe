"""OpenVINO 2026.4.1: Celu of float16 is refused: the importer makes its constants in float32.

Rule: ONNX Celu 28, T: float16, bfloat16, double and float. Up to opset 12 it was float alone.
Bfloat16 is refused in the same way.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 13, opset_import: ["": 28]> g (float16[2] x) => (float16[2] y) {
    y = Celu<alpha = 2.0>(x)
}
""")
inputs = {"x": np.array([0, 1], np.float16)}
expected = np.array([0, 1], np.float16)
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
