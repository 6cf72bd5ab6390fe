"""OpenVINO 2026.4.1: an If is refused for a Split in the branch that is not taken.

Rule: ONNX If 16 executes one of its branches, the first here. The other one would split five numbers where there are
four. onnx's function body of AffineGrid 20 has such branches: it asks whether a size has four or five numbers, and
test_affine_grid_2d_expanded and test_affine_grid_3d_expanded are refused (the latter for a GatherElements).
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 9, opset_import: ["": 20]> g (int64[4] x) => (int64[1] y) <int64 four = {4}> {
    n = Size(x)
    c = Equal(n, four)
    y = If (c) <
        then_branch = t () => (int64[1] u) { u, u1, u2, u3 = Split<num_outputs = 4>(x) },
        else_branch = e () => (int64[1] v) { v, v1, v2, v3, v4 = Split<num_outputs = 5>(x) }
    >
}
""")
inputs = {"x": np.array([1, 2, 3, 4], np.int64)}
expected = np.array([1], np.int64)
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
