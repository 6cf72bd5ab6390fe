"""pnnx 20261020 (ncnn, not supported): an LSTM with sequence_lens gets an expression that ncnn has no layer for.

Rule: ONNX LSTM 7, 14 and 22: the input sequence_lens has the length of each sequence, here all of the 2 steps. mx2onnx
writes it always.
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
TEXT = """<ir_version: 8, opset_import: ["": 15]>
g (float[2,1,1] x) => (float[2,1,1,1] y)
<float[1,4,1] w = {1, 1, 1, 1}, float[1,4,1] r = {0, 0, 0, 0}, float[1,8] b = {0, 0, 0, 0, 0, 0, 0, 0}> {
    shape = Shape<start = 0, end = 1>(x)
    n = Cast<to = 6>(shape)
    y = LSTM<hidden_size = 1>(x, w, r, b, n) }"""
x = np.ones((2, 1, 1), np.float32)
gate = 1 / (1 + np.exp(-1))
cells = gate * np.tanh(1), gate * gate * np.tanh(1) + gate * np.tanh(1)
expected = gate * np.tanh(np.array(cells, np.float32)).reshape(2, 1, 1, 1)
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
