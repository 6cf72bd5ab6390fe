"""pnnx 20261020 (ncnn): Slice from 0 to 0 of a named axis, which leaves no elements, keeps it busy without an end.

Rule: ONNX Slice 13: ends is exclusive, so that 0 to 0 is nothing, and a dimension may be 0. From 1 to 1, or without the
input axes, it comes to an end.
Upstream: none known.
Needs pnnx==20261020 and onnx. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile

import onnx

os.chdir(tempfile.mkdtemp())
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
SECONDS = 30
model = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]> g (float[3] x) => (float[0] y)'
    " <int64[1] s = {0}, int64[1] e = {0}, int64[1] a = {0}> { y = Slice (x, s, e, a) }"
)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
print("expected an end in a second")
try:
    done = subprocess.run([pnnx, "m.onnx", "fp16=0"], capture_output=True, timeout=SECONDS)
except subprocess.TimeoutExpired:
    print(f"got      none in {SECONDS} seconds")
    sys.exit(1)
print("got      exit code", done.returncode)
sys.exit(0)
