"""pnnx 20261020 (ncnn, not supported): Pad is handed on as Pad, and ncnn, whose layer is Padding, does not load it.

Rule: ONNX Pad 2 to 25: padding with a constant is what ncnn's Padding does. tf2onnx writes one in front of
each convolution with strides and SAME.
Needs ncnn==1.0.20261020, pnnx==20261020, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

import ncnn
import numpy as np
import onnx

os.chdir(tempfile.mkdtemp())
TEXT = """<ir_version: 8, opset_import: ["": 13]>
g (float[1,1,2,2] x) => (float[1,1,3,3] y)
<int64[8] pads = {0, 0, 0, 0, 0, 0, 1, 1}> { y = Pad(x, pads) }"""
x = np.arange(1, 5, dtype=np.float32).reshape(1, 1, 2, 2)
expected = np.pad(x, ((0, 0), (0, 0), (0, 1), (0, 1)))
model = onnx.parser.parse_model(TEXT)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
print("expected", expected.shape, expected.ravel().tolist())
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
subprocess.run([pnnx, "m.onnx", "fp16=0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
net = ncnn.Net()
if net.load_param("m.ncnn.param") != 0:
    layers = [line.split()[0] for line in pathlib.Path("m.ncnn.param").read_text().splitlines()[2:]]
    print("got      a graph that ncnn does not load:", *layers)
    sys.exit(1)
net.load_model("m.ncnn.bin")
extractor = net.create_extractor()
extractor.input("in0", ncnn.Mat(x, batch_index=233).clone())  # 233: no axis is the batch, as pnnx's own script has it
y = np.array(extractor.extract("out0")[1].numpy(batch_index=233))
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
