"""tract 0.23.9: Pad with a negative number, which crops, kills the process (SIGABRT).

Rule: ONNX Pad 13, pads: 'Tensor of integers indicating the number of padding elements to add or remove (if negative) at
the beginning and end of each axis.'
The panic, "could not broadcast array", unwinds into Python's C code, where it cannot go on.
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
print(model.run([np.array([[1, 2, 3, 4]], np.float32)])[0].to_numpy().tolist())
"""

os.chdir(tempfile.mkdtemp())
model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 13]>
g (float[1,4] x) => (float[1,4] y) <float v = {0.0}> { y = Pad(x, pads, v) }""")
model.graph.initializer.append(numpy_helper.from_array(np.array([0, 1, 0, -1], np.int64), "pads"))
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True)
got = done.stdout.strip() or f"the process ends with {done.returncode}: {done.stderr.strip().splitlines()[-1][:100]}"
print("expected [[0.0, 1.0, 2.0, 3.0]]")
print("got     ", got)
sys.exit(int(got != "[[0.0, 1.0, 2.0, 3.0]]"))
