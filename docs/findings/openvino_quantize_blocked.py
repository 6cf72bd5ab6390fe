"""OpenVINO 2026.4.1: a blocked QuantizeLinear without a zero point is refused.

Rule: ONNX QuantizeLinear 21: y_zero_point is optional, "Default is uint8 with zero point of 0 if it's not specified",
and output_dtype names the type, int16 here. The importer puts a scalar there and reshapes it as if it were blocked.
With a zero point of the shape [1, 2] the node is taken.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 10, opset_import: ["": 21]> g (float[1,4] x) => (int16[1,4] y) <float[1,2] s = {1, 2}> {
    y = QuantizeLinear<axis = 1, block_size = 2, output_dtype = 5>(x, s)
}
""")
inputs = {"x": np.array([[1, -2, 6, -8]], np.float32)}
expected = np.array([[1, -2, 3, -4]], np.int16)
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
