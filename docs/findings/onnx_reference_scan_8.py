"""onnx 1.23.2, reference evaluator: Scan 8 is run as Scan 9, so that its input sequence_lens is taken for a state.

Rule: ONNX Scan 8: the first input is sequence_lens, optional; the others have the batch as their first axis and the
sequence as their second one. Here the sums of 1, 2 and 3 are 1, 3 and 6. test_scan_sum of onnx.
Needs onnx==1.23.2 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
from onnx import parser
from onnx.reference import ReferenceEvaluator

model = parser.parse_model("""
<ir_version: 3, opset_import: ["": 8]> g (float[1,1] start, float[1,3,1] x) => (float[1,1] y, float[1,3,1] z) {
    y, z = Scan ("", start, x) <num_scan_inputs = 1, body = b (float[1] s, float[1] next) => (float[1] t, float[1] u) {
        t = Add(s, next)
        u = Identity(t)
    }>
}
""")
onnx.checker.check_model(model, full_check=True)
inputs = {"start": np.zeros((1, 1), np.float32), "x": np.array([[[1], [2], [3]]], np.float32)}
expected = np.array([[[1], [3], [6]]], np.float32)
print("expected", expected.shape, expected.ravel().tolist())
try:
    z = ReferenceEvaluator(model).run(None, inputs)[1]
except RuntimeError as error:
    print("got      RuntimeError:", error)
    sys.exit(1)
print("got     ", z.shape, z.ravel().tolist())
sys.exit(int(z.shape != expected.shape or not np.array_equal(z, expected)))
