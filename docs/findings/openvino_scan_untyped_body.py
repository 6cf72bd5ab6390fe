"""OpenVINO 2026.4.1: Scan is refused when the inputs of its body declare no type and one of them goes through a Cast.

Rule: ONNX IR specification, section Graphs: "Nested subgraphs [...] MAY define the types of its inputs and outputs."
The importer leaves the values of dynamic type, and the CPU plugin has no Convert from one.
test_linear_attention_explicit_scale_expanded of onnx.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 8, opset_import: ["": 17]> g (float[2,1] x) => (float[2,1] y) <float[1] zero = {0}> {
    last, y = Scan (zero, x) <num_scan_inputs = 1, body = step (s, row) => (t, z) {
        t = Identity(s)
        z = Cast<to = 1>(row)
    }>
}
""")
inputs = {"x": np.array([[1], [2]], np.float32)}
expected = np.array([[1], [2]], np.float32)
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
