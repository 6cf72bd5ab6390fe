"""onnxruntime 1.31.1: ReduceSum of int64 is computed in float64: 9007199254740992 + 1 is 9007199254740992.

Rule: ONNX ReduceSum 13 has int64 among its types and gives the sum of the elements; 2 ** 53 + 1 is a number of int64.
Upstream: none known.
Needs onnxruntime==1.31.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import onnxruntime

model = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]> g (int64[2] x) => (int64[1] y) { y = ReduceSum(x) }'
)
onnx.checker.check_model(model, full_check=True)
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
expected = [2**53 + 1]
got = session.run(None, {"x": np.array([2**53, 1], np.int64)})[0].tolist()
print("expected", expected)
print("got     ", got)
sys.exit(int(got != expected))
