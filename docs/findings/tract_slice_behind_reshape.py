"""tract 0.23.9: a Slice with a step behind a Reshape is refused: "Downsample: Invalid axis".

Rule: ONNX Slice 13: a step other than 1 takes every step-th element of its axis, whatever is in front of it.
tract moves the Slice in front of the Reshape, whose input has no such axis.
Upstream: none known.
Needs tract==0.23.9, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
import tract

TEXT = """<ir_version: 8, opset_import: ["": 17]> g (float[6,10,4] x) => (float[6,20] y)
<int64[2] shape={6, -1}, int64[1] start={0}, int64[1] end={40}, int64[1] axis={1}, int64[1] step={2}>
{ r = Reshape(x, shape) y = Slice(r, start, end, axis, step) }"""
model = onnx.parser.parse_model(TEXT)
onnx.checker.check_model(model, full_check=True)
os.chdir(tempfile.mkdtemp())
onnx.save(model, "m.onnx")
x = np.arange(240, dtype=np.float32).reshape(6, 10, 4)
print("expected", x.reshape(6, 40)[0, :6:2].tolist(), "...")
try:
    found = tract.onnx().load("m.onnx").into_model().into_runnable().run([x])[0].to_numpy()
except tract.TractError as error:
    print("got     ", " ".join(str(error).split("Stack")[0].split()))
    sys.exit(1)
print("got     ", found[0, :3].tolist(), "...")
sys.exit(int(not np.array_equal(found, x.reshape(6, 40)[:, ::2])))
