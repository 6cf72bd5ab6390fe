"""onnx 1.23.2, reference evaluator: what the turns of a Loop give is joined along its first axis, not along a new one.

Rule: ONNX Loop 16: each scan output 'is created by concatenating the value of the specified output value at the end of
each iteration of the loop', and its shape inference puts an axis for the iterations in front. The evaluator joins two
dimensions or more along the first of them. It is what other tools are compared with.
Needs onnx==1.23.2 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
from onnx import parser
from onnx.reference import ReferenceEvaluator

model = parser.parse_model("""
<ir_version: 8, opset_import: ["": 17]> g (int64 turns, bool go, float[1,2] x) => (float[m,1,2] y) {
  y = Loop (turns, go) <body = b (int64 i, bool on) => (bool next, float[1,2] z) { next = Identity(on) z = Identity(x) }>
}
""")
x = np.array([[1, 2]], np.float32)
expected = np.stack([x, x, x])
y = np.asarray(ReferenceEvaluator(model).run(None, {"turns": np.array(3), "go": np.array(True), "x": x})[0])
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
