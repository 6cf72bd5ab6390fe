"""OpenVINO 2026.4.1: SpaceToDepth ignores mode: CRD comes out as DCR.

Rule: ONNX SpaceToDepth 28, mode: "Use CRD for column-row-depth order." The channel of the input is the slowest in the
output's channels: channel 0 is 0, 1, 2, 3 and channel 1 is 4, 5, 6, 7. DCR interleaves them.
test_spacetodepth_crd_mode_example of onnx.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 13, opset_import: ["": 28]> g (float[1,2,2,2] x) => (float[1,8,1,1] y) {
    y = SpaceToDepth<blocksize = 2, mode = "CRD">(x)
}
""")
inputs = {"x": np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2)}
expected = np.arange(8, dtype=np.float32).reshape(1, 8, 1, 1)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.array_equal(y, expected)))
