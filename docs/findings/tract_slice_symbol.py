"""tract 0.23.9: Slice whose bounds are inputs fails as it runs, of a symbol whose scope is gone.

Rule: ONNX Slice 13: starts and ends are inputs, and may differ from run to run.
tract names the unknown size by a symbol of the model; into_runnable() drops the model, and the symbol with it.
With steps or axes as inputs too, Slice is refused before anything runs.
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
g (float[4] x, int64[1] s, int64[1] e) => (float[n] y) { y = Slice(x, s, e) }"""
inputs = [np.arange(4, dtype=np.float32), np.array([1]), np.array([3])]
expected = np.array([1.0, 2.0])
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
