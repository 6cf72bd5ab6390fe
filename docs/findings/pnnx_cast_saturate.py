"""pnnx 20261020 (ncnn): Cast to float16 with the attribute saturate does nothing.

Rule: ONNX Cast 19: the elements are converted to the type to; saturate 'only applies for float 8 conversion'.
pnnx's rule takes no attribute but to, so the node goes on by name without its attributes, and ncnn's layer Cast, which
then has no types, gives its input back. float16 has no 1 + 2**-11.
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
inputs = {"x": np.array([1, 1 + 2.0**-11, 3], np.float32)}
expected = np.array([1, 1, 3], np.float32)
ports = [h.make_tensor_value_info(k, onnx.TensorProto.FLOAT, x.shape) for k, x in inputs.items()]
node = h.make_node("Cast", ["x"], ["y"], to=onnx.TensorProto.FLOAT16, saturate=1)
outputs = [h.make_tensor_value_info("y", onnx.TensorProto.FLOAT16, expected.shape)]
graph = h.make_graph([node], "g", ports, outputs)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 19)], ir_version=9), "m.onnx")
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
sys.exit(int(y.shape != expected.shape or not np.array_equal(y, expected)))
