"""OpenVINO 2026.4.1: DFT takes no notice of its input axis and transforms axis 1.

Rule: ONNX DFT 20, input axis: "The axis as a scalar on which to perform the DFT". Axis 2 has the numbers 1 and 2, whose
transform is 3 and -1; axis 1 has one element only, whose transform is itself. test_dft_axis of onnx.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 9, opset_import: ["": 20]> g (float[1,1,2,1] x) => (float[1,1,2,2] y) <int64 axis = {2}> {
    y = DFT(x, "", axis)
}
""")
inputs = {"x": np.array([[[[1], [2]]]], np.float32)}
expected = np.array([[[[3, 0], [-1, 0]]]], np.float32)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected, rtol=1e-5, atol=1e-6)))
