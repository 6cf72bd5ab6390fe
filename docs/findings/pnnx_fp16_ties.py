"""pnnx 20261020 (ncnn, arguable): with fp16=1 weights half-way between two float16 values are rounded away from zero.

Rule: IEEE 754, 4.3.1: round to nearest, ties to even, is the default, and is what ONNX Cast 13 says from float to float16.
pnnx itself does not say how it rounds, and no rule binds an option of storage.
Three of 9,872 weights of a small CNN.
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
inputs = {"x": np.ones((1, 4, 1, 1), np.float32)}
expected = np.array([1.0, 1 + 2.0**-11, 2044.5 * 2.0**-18, 2.0], np.float32).astype(np.float16).astype(np.float32)
ports = [h.make_tensor_value_info(k, onnx.TensorProto.FLOAT, x.shape) for k, x in inputs.items()]
w = onnx.numpy_helper.from_array(
    np.array([1.0, 1 + 2.0**-11, 2044.5 * 2.0**-18, 2.0], np.float32).reshape(1, 4, 1, 1), "w"
)
node = h.make_node("Conv", ["x", "w"], ["y"])
graph = h.make_graph([node], "g", ports, [h.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 1, 1, 1])], [w])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "m.onnx")
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
subprocess.run([pnnx, "m.onnx", "fp16=1"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
with open("m.ncnn.bin", "rb") as file:
    data = file.read()
stored = np.frombuffer(data, "<f2", 4, data.index((0x01306B47).to_bytes(4, "little")) + 4)  # behind the tag of float16
print("expected", expected.tolist())
print("got     ", stored.astype(np.float32).tolist())
sys.exit(int(not np.array_equal(stored.astype(np.float32), expected)))
