"""OpenVINO 2026.4.1: RandomUniformLike of float64 is refused: the importer makes low and high in float32.

Rule: ONNX RandomUniformLike 22, T2: bfloat16, float16, float and double. The numbers are random, so the script
looks at their count only. test_bernoulli_expanded of onnx.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 10, opset_import: ["": 22]> g (double[2] x) => (int64[1] y) {
    r = RandomUniformLike<dtype = 11>(x)
    y = Shape(r)
}
""")
inputs = {"x": np.zeros(2)}
expected = np.array([2], np.int64)
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
