"""tract 0.23.9: GatherND with a negative index kills the process (SIGABRT).

Rule: ONNX GatherND 13: "All values in `indices` are expected to be within bounds [-s, s-1] along axis of size `s`".
The panic, "assertion failed: index < dim", unwinds into Python's C code, where it cannot go on. Where the indices are a
constant of one row, the model is refused. Gather and GatherElements take negative indices.
Upstream: none known.
Needs tract==0.23.9, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import subprocess
import sys
import tempfile

import onnx

RUN = """
import numpy as np, tract
model = tract.onnx().load("m.onnx").into_model().into_runnable()
print(model.run([np.array([1, 2, 3], np.float32), np.array([[-1]])])[0].to_numpy().tolist())
"""

os.chdir(tempfile.mkdtemp())
model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
g (float[3] x, int64[1,1] i) => (float[1] y) { y = GatherND(x, i) }""")
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True)
got = done.stdout.strip() or f"the process ends with {done.returncode}: {done.stderr.strip().splitlines()[-1][:100]}"
print("expected [3.0]")
print("got     ", got)
sys.exit(int(got != "[3.0]"))
