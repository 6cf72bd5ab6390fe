"""pnnx 20261020 (ncnn): Split of 7 elements into 4 outputs makes the first part the small one.

Rule: ONNX Split 18, num_outputs: 'If the tensor is not evenly splittable into num_outputs, the last chunk will be
smaller.'
pnnx says 'chunk with non-perfect divided size 7 / 4 is not supported' and goes on.
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
x = np.arange(7, dtype=np.float32)
expected = [2, 2, 2, 1]
names = ["a", "b", "c", "d"]
port = h.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [7])
outputs = [h.make_tensor_value_info(k, onnx.TensorProto.FLOAT, [n]) for k, n in zip(names, expected, strict=True)]
graph = h.make_graph([h.make_node("Split", ["x"], names, axis=0, num_outputs=4)], "g", [port], outputs)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=8), "m.onnx")
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
subprocess.run([pnnx, "m.onnx", "fp16=0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
net = ncnn.Net()
net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
assert net.load_param("m.ncnn.param") == 0 and net.load_model("m.ncnn.bin") == 0
extractor = net.create_extractor()
extractor.input("in0", ncnn.Mat(x).clone())
got = [np.array(extractor.extract(f"out{index}")[1]).size for index in range(4)]
print("expected parts of", expected)
print("got      parts of", got)
sys.exit(int(got != expected))
