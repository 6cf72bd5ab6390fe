"""pnnx 20261020 (ncnn): of a constant of uint16, uint32 or uint64 nothing is stored, and ncnn cannot load the weights.

Rule: ONNX Add 14, constraint T: tensor(uint16), tensor(uint32), tensor(uint64). pnnx calls their type null and writes
no byte, where ncnn reads four for each element. Of 8 bits and of int16 it writes too few: pnnx_narrow_constants.py.
Upstream: https://github.com/Tencent/ncnn/issues/6855 tells of bool, stored in one byte each (closed).
Needs ncnn==1.0.20261020, pnnx==20261020, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile

import ncnn
import onnx

os.chdir(tempfile.mkdtemp())
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
wrong = 0
for kind in ("uint16", "uint32", "uint64"):
    graph = f"g ({kind}[2] x) => ({kind}[2] y) <{kind}[2] c = {{5, 3}}> {{ y = Add (x, c) }}"
    onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + graph), "m.onnx")
    subprocess.run([pnnx, "m.onnx", "fp16=0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    net = ncnn.Net()
    status = net.load_param("m.ncnn.param") or net.load_model("m.ncnn.bin")
    print("expected", kind, "weights that load with status 0")
    print("got     ", kind, "weights of", os.path.getsize("m.ncnn.bin"), "bytes that load with status", status)
    wrong += status != 0
sys.exit(int(wrong > 0))
