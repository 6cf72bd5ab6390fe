"""OpenVINO 2026.4.1: Scan is refused when its body takes a value from outside.

Rule: ONNX IR specification, section Names Within a Graph: a subgraph may use the names of the graphs around it.
The importer counts the value as one of the Scan's inputs and misses it. A constant or an initializer is taken.
onnx's function body of LinearAttention 27 is such a Scan.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 8, opset_import: ["": 17]> g (float[2,1] x, float[1] a) => (float[2,1] y) <float[1] zero = {0}> {
    b = Neg(a)
    last, y = Scan (zero, x) <num_scan_inputs = 1, body = step (float[1] s, float[1] row) => (float[1] t, float[1] z) {
        t = Identity(s)
        z = Add(row, b)
    }>
}
""")
inputs = {"x": np.array([[1], [2]], np.float32), "a": np.array([1], np.float32)}
expected = np.array([[0], [1]], np.float32)
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
