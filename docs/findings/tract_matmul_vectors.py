"""tract 0.23.9: MatMul of two vectors is refused: "a_rank > 1 || b_rank > 1".

Rule: ONNX MatMul 13: it behaves like numpy.matmul, whose product of two vectors is their inner product, a scalar.
Upstream: none known.
Needs tract==0.23.9, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
import tract

os.chdir(tempfile.mkdtemp())

TEXT = """<ir_version: 8, opset_import: ["": 13]>
g (float[2] a, float[2] b) => (float y) { y = MatMul(a, b) }"""
inputs = [np.array([1, 2], np.float32), np.array([3, 4], np.float32)]
expected = np.array(11.0)
onnx.save(onnx.parser.parse_model(TEXT), "m.onnx")
print("expected", expected.shape, expected.ravel().tolist())
try:
    model = tract.onnx().load("m.onnx")
    y = model.into_model().into_runnable().run([*inputs])[0].to_numpy()
except tract.TractError as error:
    lines = [line.strip() for line in str(error).partition("Stack backtrace")[0].splitlines() if line.strip()]
    print("got      an error:", lines[-1])
    sys.exit(1)
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected, atol=1e-5)))
