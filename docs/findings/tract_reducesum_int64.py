"""tract 0.23.9: ReduceSum of int64 adds in int32: the result is the sum modulo 2 ** 32, taken as a signed number.

Rule: ONNX ReduceSum 13 "Computes the sum of the input tensor's elements along the provided axes", in a tensor of the
type of the input. ReduceMean and ReduceL1 of int64 go wrong with it; ReduceProd and Add are right.
Upstream: none known.
Needs tract==0.23.9, onnx and numpy. Exits with 1 while the defect shows.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
import tract

os.chdir(tempfile.mkdtemp())
model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
g (int64[2] x) => (int64[1] y) { y = ReduceSum(x) }""")
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
x = np.array([2**40, 2**31])
got = tract.onnx().load("m.onnx").into_model().into_runnable().run([x])[0].to_numpy().tolist()
print("expected", [2**40 + 2**31])
print("got     ", got)
sys.exit(int(got != [2**40 + 2**31]))
