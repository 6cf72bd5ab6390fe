"""pnnx 20261020 (ncnn): of a graph that is one Slice of everything, the script that pnnx writes feeds no input.

Rule: ONNX Slice 13: of 0 to the largest number in steps of 1 the output is the input. pnnx removes such a node, and its
graph for ncnn is a single layer Input, whose blob is named out0; model_ncnn.py has no line for the input.
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
model = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]> g (float[3] x) => (float[3] y)'
    " <int64[1] s = {0}, int64[1] e = {2147483647}, int64[1] a = {0}, int64[1] t = {1}> { y = Slice (x, s, e, a, t) }"
)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
written = ["ncnnparam=m.param", "ncnnbin=m.bin", "ncnnpy=m_ncnn.py"]
subprocess.run([pnnx, "m.onnx", "inputshape=[3]f32", "fp16=0", *written], capture_output=True, check=True)
with open("m_ncnn.py") as file:
    inputs = file.read().count("ex.input(")
print("expected 1 input")
print("got     ", inputs, "inputs")
sys.exit(int(inputs != 1))
