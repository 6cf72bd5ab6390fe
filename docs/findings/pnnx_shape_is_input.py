"""pnnx 20261020 (ncnn): Shape is taken out, and the graph gives its input back in place of its shape.

Rule: ONNX Shape 15: 'Takes a tensor as input and outputs an 1D int64 tensor containing the shape of the input tensor.'
The graph is one line, 'Input in0 0 1 out0', and the script that pnnx writes beside it feeds no input.
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
expected = np.array([2, 3])
x = np.arange(6, dtype=np.float32).reshape(2, 3)
ports = [h.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3])]
outputs = [h.make_tensor_value_info("y", onnx.TensorProto.INT64, [2])]
graph = h.make_graph([h.make_node("Shape", ["x"], ["y"])], "g", ports, outputs)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 15)], ir_version=8), "m.onnx")
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
subprocess.run([pnnx, "m.onnx", "fp16=0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
net = ncnn.Net()
net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
assert net.load_param("m.ncnn.param") == 0 and net.load_model("m.ncnn.bin") == 0
extractor = net.create_extractor()
extractor.input(net.input_names()[0], ncnn.Mat(x).clone())
y = np.array(extractor.extract("out0")[1])
print("expected", expected.tolist())
print("got     ", y.tolist())
sys.exit(int(not np.array_equal(y, expected)))
