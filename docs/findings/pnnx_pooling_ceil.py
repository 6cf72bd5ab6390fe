"""pnnx 20261020 (ncnn): MaxPool and AveragePool with ceil_mode keep a last window that starts behind the input.

Rule: ONNX MaxPool 22 and AveragePool 22, output shape: 'Sliding windows that would start in the right padded region are
ignored.'
pnnx writes ceil_mode as ncnn's pad mode 0, which keeps them: one that lies wholly behind the input, one that starts in
the padding.
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
x = np.arange(1, 5, dtype=np.float32).reshape(1, 1, 2, 2)
nodes = {
    "MaxPool": h.make_node("MaxPool", ["x"], ["y"], kernel_shape=[1, 1], strides=[2, 2], ceil_mode=1),
    "AveragePool": h.make_node(
        "AveragePool", ["x"], ["y"], kernel_shape=[3, 3], strides=[3, 3], pads=[1] * 4, ceil_mode=1, count_include_pad=1
    ),
}
port = h.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 1, 2, 2])
output = h.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 1, 1, 1])
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
got = {}
for name, node in nodes.items():
    graph = h.make_graph([node], "g", [port], [output])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 22)], ir_version=10), "m.onnx")
    subprocess.run([pnnx, "m.onnx", "fp16=0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    net = ncnn.Net()
    assert net.load_param("m.ncnn.param") == 0 and net.load_model("m.ncnn.bin") == 0
    extractor = net.create_extractor()
    extractor.input("in0", ncnn.Mat(x, batch_index=0).clone())
    got[name] = extractor.extract("out0")[1].numpy(batch_index=0).shape
print("expected", dict.fromkeys(nodes, (1, 1, 1, 1)))
print("got     ", got)
sys.exit(int(got != dict.fromkeys(nodes, (1, 1, 1, 1))))
