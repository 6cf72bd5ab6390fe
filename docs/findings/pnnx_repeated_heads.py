"""pnnx 20261020 (ncnn): Unsqueeze of four dimensions is lost, so Expand repeats heads as 0, 1, 0, 1, not 0, 0, 1, 1.

Rule: ONNX Unsqueeze 13 and Expand 13: of (2, 2, 1, 1) they make (2, 2, 1, 1, 1) and (2, 2, 2, 1, 1): the heads are 0,
0, 1, 1.
pnnx writes ExpandDims, for whose fifth dimension ncnn has no place, so that it gives its input back, and Tile over the
heads. Neither says so.
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
inputs = {"x": np.arange(4, dtype=np.float32).reshape(2, 2, 1, 1)}
expected = np.array([0, 0, 1, 1, 2, 2, 3, 3], np.float32).reshape(2, 4, 1, 1)
ports = [h.make_tensor_value_info(k, onnx.TensorProto.FLOAT, x.shape) for k, x in inputs.items()]
stored = {"axes": [2], "size": [2, 2, 2, 1, 1], "shape": [2, 4, 1, 1]}
nodes = [
    h.make_node("Unsqueeze", ["x", "axes"], ["u"]),
    h.make_node("Expand", ["u", "size"], ["e"]),
    h.make_node("Reshape", ["e", "shape"], ["y"]),
]
weights = [onnx.numpy_helper.from_array(np.array(value), name) for name, value in stored.items()]
outputs = [h.make_tensor_value_info("y", onnx.TensorProto.FLOAT, expected.shape)]
graph = h.make_graph(nodes, "g", ports, outputs, weights)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "m.onnx")
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
subprocess.run([pnnx, "m.onnx", "fp16=0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
net = ncnn.Net()
net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
assert net.load_param("m.ncnn.param") == 0 and net.load_model("m.ncnn.bin") == 0
extractor = net.create_extractor()
for index, x in enumerate(inputs.values()):
    extractor.input(
        f"in{index}", ncnn.Mat(x, batch_index=233).clone()
    )  # 233: no axis is the batch, as pnnx's own script has it
y = np.array(extractor.extract("out0")[1].numpy(batch_index=233))
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
