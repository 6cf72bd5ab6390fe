"""OpenVINO 2026.4.1: LRN cuts off what its bias has behind the point.

Rule: LRN 13: 'Y[n, c, d1, ..., dk] = X[n, c, d1, ..., dk] / (bias + alpha / size * square_sum[n, c, d1, ..., dk] ) ^ beta'.
A bias of 1.5 counts as 1, one of 2 as 2.
Upstream: none known.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 8, opset_import: ["": 13]> g (float[1,1,1,2] x) => (float[1,1,1,2] y) {
    y = LRN <size = 1, alpha = 1.0, beta = 1.0, bias = 1.5> (x)
}
""")
x = np.array([1, 2], np.float32).reshape(1, 1, 1, 2)
expected = x / (1.5 + x**2)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(x)[0]
print("expected", expected.ravel().tolist())
print("got     ", y.ravel().tolist())
sys.exit(int(not np.allclose(y, expected, atol=1e-5)))
