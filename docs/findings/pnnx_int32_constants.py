"""pnnx 20261020 (ncnn): a constant of int32 is stored by its bits, which ncnn takes for a float32: 5 + 2 is 5.

Rule: ONNX Add 14 and Mod 13 take int32. The inputs are handed over as float32, for ncnn's tensors have no type; by their
bits, as the script that pnnx writes does it, they are added as floats near 0 (pnnx_int32_as_float32.py).
Upstream: none known.
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

os.chdir(tempfile.mkdtemp())
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
x = np.array([[5, 9]], np.int32)
wrong = 0
for node, expected in (("Add(x, c)", [[7, 13]]), ("Mod<fmod = 1>(x, c)", [[1, 1]])):
    graph = f"g (int32[1, 2] x) => (int32[1, 2] y) <int32[1, 2] c = {{2, 4}}> {{ y = {node} }}"
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + graph)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    subprocess.run([pnnx, "m.onnx", "fp16=0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    net = ncnn.Net()
    assert net.load_param("m.ncnn.param") == 0 and net.load_model("m.ncnn.bin") == 0
    extractor = net.create_extractor()
    extractor.input("in0", ncnn.Mat(x.astype(np.float32), batch_index=233).clone())  # 233: no axis is the batch
    got = extractor.extract("out0")[1].numpy(batch_index=233).tolist()
    print("expected", node, expected)
    print("got     ", node, got)
    wrong += got != expected
sys.exit(int(wrong > 0))
