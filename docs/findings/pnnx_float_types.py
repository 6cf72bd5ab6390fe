"""pnnx 20261020 (ncnn, arguable): Max of float64 or float16 tensors is computed in float32 and gives a float32 tensor.

Rule: ONNX Max 13, constraint T: the inputs and the output have one type. float32 has no 1 + 2**-30.
ncnn's tensors know no such types and its documents promise none; the type that the file states is dropped without a
message.
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
inputs = {"a": np.array([1, 1 + 2.0**-30, 1]), "b": np.array([1.0, 1, 1])}
expected = np.array([1, 1 + 2.0**-30, 1])
ports = [h.make_tensor_value_info(k, onnx.TensorProto.DOUBLE, x.shape) for k, x in inputs.items()]
node = h.make_node("Max", ["a", "b"], ["y"])
graph = h.make_graph([node], "g", ports, [h.make_tensor_value_info("y", onnx.TensorProto.DOUBLE, expected.shape)])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8), "m.onnx")
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
subprocess.run([pnnx, "m.onnx", "fp16=0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
net = ncnn.Net()
net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
assert net.load_param("m.ncnn.param") == 0 and net.load_model("m.ncnn.bin") == 0
extractor = net.create_extractor()
for index, x in enumerate(inputs.values()):
    extractor.input(
        f"in{index}", ncnn.Mat(x.astype(np.float32), batch_index=233).clone()
    )  # 233: no axis is the batch, as pnnx's own script has it
y = np.array(extractor.extract("out0")[1].numpy(batch_index=233))
print("expected", expected.dtype, expected.ravel().tolist())
print("got     ", y.dtype, y.ravel().tolist())
sys.exit(int(y.dtype != expected.dtype or not np.array_equal(y, expected)))
