"""tract 0.23.9: Softmax between a DequantizeLinear and a QuantizeLinear gives the largest integer everywhere.

Rule: ONNX Softmax 13 of the dequantised values, then QuantizeLinear 13: 0.03, 0.09, 0.24 and 0.64 in steps of 1/256.
tract fuses the three to a quantised Softmax, which is what onnxruntime's quantiser writes for each attention. Without
the DequantizeLinear before it, or the QuantizeLinear behind it, the result is right. Nothing says that it is wrong.
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
g (float[1,4] x) => (float[1,4] y)
<float r = {0.05}, uint8 n = {100}, float t = {0.00390625}, uint8 o = {0}> {
    q = QuantizeLinear(x, r, n) d = DequantizeLinear(q, r, n) a = Softmax<axis = -1>(d)
    b = QuantizeLinear(a, t, o) y = DequantizeLinear(b, t, o) }"""
inputs = [np.array([[0, 1, 2, 3]], np.float32)]
exact = np.exp(inputs[0]) / np.exp(inputs[0]).sum()
expected = np.round(exact * 256) / 256
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
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected, atol=1 / 128)))
