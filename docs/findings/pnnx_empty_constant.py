"""pnnx 20261020 (ncnn): a constant without elements becomes a layer that ncnn cannot load.

Rule: a dimension may be 0, as in ONNX's own case test_reduce_sum_empty_set; Sum 13, Gemm 13, MatMul 13 exclude none.
ncnn's layer MemoryData reads one element for [0, 1], that of C, and refuses [2, 0, 2]; InnerProduct refuses [0, 1].
Upstream: none known.
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
loaded = []
for graph in (
    "(float[1, 1, 1] x) => (float[2, 0, 2] y) <float[2, 0, 2] c = {}> { y = Sum (x, c) }",
    "(float[1, 1] x) => (float[1, 0] y) <float[0, 1] b = {}, float[1] c = {2}> {y = Gemm <beta=2.0,transB=1> (x,b,c)}",
    "(float[0] x) => (float[1] y) <float[0, 1] c = {}> { y = MatMul (x, c) }",
):
    onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g ' + graph), "m.onnx")
    subprocess.run([pnnx, "m.onnx", "fp16=0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    net = ncnn.Net()
    loaded.append("neither" if net.load_param("m.ncnn.param") else "graph" if net.load_model("m.ncnn.bin") else "both")
print("expected ncnn loads the graph and the weights of Sum, Gemm, MatMul:", ["both", "both", "both"])
print("got     ", loaded)
sys.exit(int(loaded != ["both", "both", "both"]))
