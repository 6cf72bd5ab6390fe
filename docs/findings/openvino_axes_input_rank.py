"""OpenVINO 2026.4.1: Unsqueeze whose axes are an input of the graph is refused, though the output's shape is known.

Rule: ONNX Unsqueeze 13: axes is an input, of any origin. The rank is known, for axes has the shape [1]. OpenVINO's
shape inference leaves it open, also in a model built of its own operators, and the CPU plugin runs no Unsqueeze of
unknown rank. Seven of onnx's own cases end so; openvino_reduce_axes_rank.py shows it for the Reduce operators.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 8, opset_import: ["": 17]> g (float[2] x, int64[1] axes) => (float[1,2] y) {
    y = Unsqueeze(x, axes)
}
""")
inputs = {"x": np.array([1, 2], np.float32), "axes": np.array([0], np.int64)}
expected = np.array([[1, 2]], np.float32)
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
