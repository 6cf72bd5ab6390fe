"""tract 0.23.9 (arguable): Atanh of numbers near -1 loses digits, and of numbers near 1 it does not.

Rule: none states a bound; ONNX Atanh 9 names the function, which is odd, and this project wants 4 ULP
(docs/operators.md). It is ln_1p(2x / (1 - x)) / 2: for x near -1 the quotient is rounded near -1, where the logarithm is
steep. -0.9 is 3 ULP off, -0.99 is 12, and -0.9999 is 52; the same numbers without the sign are right to half of one.
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

model = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]> g (float[6] x) => (float[6] y) { y = Atanh(x) }'
)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
x = np.array([-0.9, -0.99, -0.9999, 0.9, 0.99, 0.9999], np.float32)
got = tract.onnx().load("m.onnx").into_model().into_runnable().run([x])[0].to_numpy()
truth = np.arctanh(x.astype(np.float64))
ulp = abs(got - truth) / np.spacing(abs(truth).astype(np.float32))
print("expected", truth.astype(np.float32).tolist(), "within 4 ULP")
print("got     ", got.tolist(), [round(float(one), 1) for one in ulp])
sys.exit(int(ulp.max() > 4))
