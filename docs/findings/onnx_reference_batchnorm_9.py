"""onnx 1.23.2, reference evaluator: BatchNormalization 9 with one output mixes in statistics of the batch.

Rule: ONNX BatchNormalization 9: "Output case #2: Y (test mode)", which normalizes with the inputs mean and var. The
evaluator takes the default momentum of 0.9 for a sign of training. The network test_densenet121 of onnx, of opset 9,
comes out as 0.4594 in place of 0.4610, in float64 as in float32, which is outside onnx's own tolerance.
Upstream: https://github.com/onnx/onnx/pull/8442 (open)
Needs onnx==1.23.2 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
from onnx import parser
from onnx.reference import ReferenceEvaluator

model = parser.parse_model("""
<ir_version: 4, opset_import: ["": 9]> g (float[1,1,2] x) => (float[1,1,2] y)
<float[1] scale = {1}, float[1] bias = {0}, float[1] mean = {0}, float[1] var = {1}> {
    y = BatchNormalization<epsilon = 0.0>(x, scale, bias, mean, var)
}
""")
onnx.checker.check_model(model, full_check=True)
x = np.array([[[10, 20]]], np.float32)
y = ReferenceEvaluator(model).run(None, {"x": x})[0]
print("expected", x.shape, x.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(not np.allclose(y, x, rtol=1e-5)))
