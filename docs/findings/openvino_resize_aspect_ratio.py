"""OpenVINO 2026.4.1: Resize ignores keep_aspect_ratio_policy and stretches to the sizes.

Rule: ONNX Resize 18, keep_aspect_ratio_policy, not_larger: "the sizes are adjusted so that no extent of the output is
larger than the specified size, while keeping the original aspect ratio". From 2 x 4 to 4 x 4 the scale is 1: nothing
changes. not_smaller is ignored as well. Four of onnx's own cases.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 9, opset_import: ["": 19]> g (float[1,1,2,4] x) => (float[1,1,h,w] y) <int64[2] s = {4, 4}> {
    y = Resize<mode = "nearest", axes = [2, 3], keep_aspect_ratio_policy = "not_larger">(x, "", "", s)
}
""")
inputs = {"x": np.arange(8, dtype=np.float32).reshape(1, 1, 2, 4)}
expected = inputs["x"]
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.array_equal(y, expected)))
