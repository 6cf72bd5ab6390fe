"""pnnx 20261020 (ncnn): a file whose weights are also listed as inputs, in front of its data, kills it (SIGSEGV).

Rule: ONNX IR specification, section Graphs: an initializer may have the name of a graph input, which it then gives a default;
no order is prescribed. Files of IR 3 must be like that.
pnnx removes the wrong ones of the inputs.
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
inputs = {
    "w": np.array([1, 4, 4], np.float32),
    "z": np.array([2, 5, 3], np.float32),
    "x": np.array([3, 2, 1], np.float32),
}
expected = np.array([6, 11, 8], np.float32)
ports = [h.make_tensor_value_info(k, onnx.TensorProto.FLOAT, x.shape) for k, x in inputs.items()]
w = onnx.numpy_helper.from_array(np.array([1, 4, 4], np.float32), "w")
z = onnx.numpy_helper.from_array(np.array([2, 5, 3], np.float32), "z")
nodes = [h.make_node("Add", ["x", "w"], ["t"]), h.make_node("Add", ["t", "z"], ["y"])]
graph = h.make_graph(nodes, "g", ports, [h.make_tensor_value_info("y", onnx.TensorProto.FLOAT, expected.shape)], [w, z])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "m.onnx")
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
done = subprocess.run([pnnx, "m.onnx", "fp16=0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print("expected pnnx ends with 0")
print("got      pnnx ends with", done.returncode)
sys.exit(int(done.returncode != 0))
