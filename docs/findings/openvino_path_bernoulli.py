"""OpenVINO 2026.4.1: a Bernoulli with a seed is read from memory and refused from a file.

Rule: ONNX Bernoulli 15 and 22, attribute seed; the same bytes are the same model. core.read_model(bytes) takes the
operator's function body, core.read_model(path) has "No conversion rule". The numbers are random, so the
script looks at their count only. test_bernoulli_seed of onnx.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 10, opset_import: ["": 22]> g (float[2] x) => (int64[1] y) {
    b = Bernoulli<seed = 1.0>(x)
    y = Shape(b)
}
""")
inputs = {"x": np.array([0, 1], np.float32)}
expected = np.array([2], np.int64)
onnx.checker.check_model(model, full_check=True)
print("expected", expected.shape, expected.ravel().tolist())
core = ov.Core()
path = os.path.join(tempfile.mkdtemp(), "m.onnx")
onnx.save(model, path)
try:
    compiled = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    y = compiled(inputs)[0]
except RuntimeError as error:
    print("got      RuntimeError:", " ".join(str(error).split("Summary:")[-1].split())[:250])
    sys.exit(1)
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.array_equal(y, expected)))
