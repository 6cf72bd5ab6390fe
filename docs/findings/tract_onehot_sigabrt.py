"""tract 0.23.9: OneHot of an index outside its depth kills the process (SIGABRT).

Rule: ONNX OneHot 11: "Any entries in the 'indices' input tensor with values outside the range [-depth, depth-1] will
result in one-hot representation with all 'off_value' values in the output tensor."
The panic, "ndarray: index out of bounds", unwinds into Python's C code, where it cannot go on.
Upstream: none known.
Needs tract==0.23.9, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

RUN = """
import numpy as np, tract
model = tract.onnx().load("m.onnx").into_model().into_runnable()
print(model.run([np.array([2, 3])])[0].to_numpy().tolist())
"""

os.chdir(tempfile.mkdtemp())
model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
g (int64[2] x) => (float[2,3] y) { y = OneHot(x, depth, values) }""")
constants = {"depth": np.array(3), "values": np.array([0, 1], np.float32)}
model.graph.initializer.extend(numpy_helper.from_array(x, name) for name, x in constants.items())
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True)
got = done.stdout.strip() or f"the process ends with {done.returncode}: {done.stderr.strip().splitlines()[-1][:100]}"
print("expected [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]")
print("got     ", got)
sys.exit(int(got != "[[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]"))
