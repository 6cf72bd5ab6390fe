"""tract 0.23.9: BatchNormalization ignores training_mode: it computes with the statistics that it is given.

Rule: ONNX BatchNormalization 14 and 15: with training_mode = 1 the statistics are those of the batch, here 2 and 1.
With the two outputs for new statistics the file is refused: "Wrong number of outputs".
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

TEXT = """<ir_version: 8, opset_import: ["": 15]>
g (float[2,1] x) => (float[2,1] y)
<float[1] one = {1.0}, float[1] zero = {0.0}> {
    y = BatchNormalization<training_mode = 1, epsilon = 0.0>(x, one, zero, zero, one) }"""
inputs = [np.array([[1], [3]], np.float32)]
expected = np.array([[-1.0], [1.0]])
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
