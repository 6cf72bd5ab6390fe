"""pnnx 20261020 (ncnn): ReduceMax and ReduceMin over all axes drop the dimensions, though keepdims is 1.

Rule: ONNX ReduceMax 18, keepdims: 'Keep the reduced dimension or not, default 1 means keep reduced dimension'.
pnnx writes the layer Reduction with 4=0 (keepdims) for these two; other reductions without axes keep the dimensions.
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
inputs = {"x": np.arange(1, 7, dtype=np.float32).reshape(1, 2, 3)}
expected = np.array([[[6]]], np.float32)
ports = [h.make_tensor_value_info(k, onnx.TensorProto.FLOAT, x.shape) for k, x in inputs.items()]
node = h.make_node("ReduceMax", ["x"], ["y"], keepdims=1)
graph = h.make_graph([node], "g", ports, [h.make_tensor_value_info("y", onnx.TensorProto.FLOAT, expected.shape)])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=8), "m.onnx")
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
