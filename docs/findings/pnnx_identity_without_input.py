"""pnnx 20261020 (ncnn): of a Transpose that changes nothing it makes a graph without the input in0.

Rule: ONNX Transpose 13: with perm 0, 1 the output is the input; the graph has one input and one output.
The graph is one line, 'Input in0 0 1 out0': the tensor in0, which pnnx's scripts feed, is not there. The script that
pnnx writes beside it feeds no input at all and gets an empty tensor.
Needs ncnn==1.0.20261020, pnnx==20261020, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile

import ncnn
import numpy as np
import onnx
from onnx import helper as h

os.chdir(tempfile.mkdtemp())
expected = np.arange(6, dtype=np.float32).reshape(2, 3)
port = h.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3])
output = h.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 3])
graph = h.make_graph([h.make_node("Transpose", ["x"], ["y"], perm=[0, 1])], "g", [port], [output])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8), "m.onnx")
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
subprocess.run([pnnx, "m.onnx", "fp16=0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
net = ncnn.Net()
net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
assert net.load_param("m.ncnn.param") == 0 and net.load_model("m.ncnn.bin") == 0
extractor = net.create_extractor()
extractor.input("in0", ncnn.Mat(expected).clone())
y = extractor.extract("out0")[1]
got = np.array(y) if y.dims else np.zeros(0)
with open("m_ncnn.py", encoding="utf-8") as file:
    feeds = file.read().count("ex.input(")
print("expected", expected.tolist(), "and a script that feeds 1 input")
print("got     ", got.tolist(), f"and a script that feeds {feeds} inputs")
sys.exit(int(not np.array_equal(got, expected)))
