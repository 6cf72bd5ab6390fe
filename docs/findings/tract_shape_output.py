"""tract 0.23.9: the output of Shape cannot be read: "Unsupported DatumType in the public API TDim".

Rule: ONNX Shape 13 and 15: its output is a tensor of int64.
Sizes are symbolic expressions in tract, also where they are numbers, and the type reaches the output.
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
g (float[2,3] x) => (int64[2] y) { y = Shape(x) }"""
inputs = [np.zeros((2, 3), np.float32)]
expected = np.array([2, 3])
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
