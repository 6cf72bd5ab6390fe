"""OpenVINO 2026.4.1: MaxPool with ceil_mode keeps a window that begins behind the input: the lowest float32.

Rule: ONNX MaxPool 22, ceil_mode: "Sliding windows that would start in the right padded region are ignored." A kernel
of 1 with a stride of 2 has one window in two elements; the second would begin at 2.
test_maxpool_2d_ceil_output_size_reduce_by_one of onnx.
Upstream: https://github.com/openvinotoolkit/openvino/issues/18731 is about the same output size in the core operator
(closed).
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 10, opset_import: ["": 22]> g (float[1,1,1,2] x) => (float[1,1,1,1] y) {
    y = MaxPool<ceil_mode = 1, kernel_shape = [1, 1], strides = [1, 2]>(x)
}
""")
inputs = {"x": np.array([[[[1, 2]]]], np.float32)}
expected = np.array([[[[1]]]], np.float32)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.array_equal(y, expected)))
