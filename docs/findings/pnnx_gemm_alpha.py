"""pnnx 20261020 (ncnn): Gemm with alpha 0 loses C; Gemm without C whose alpha is not 1 loses alpha and the transposes.

Rule: ONNX Gemm 13: "Compute Y = alpha * A' * B' + beta * C". ncnn's layer Gemm multiplies C by alpha too, and pnnx
writes beta / alpha for beta, here inf. Without C pnnx leaves ONNX's Gemm as it is: ncnn's Gemm without parameters.
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
x, wrong = np.array([[1, 2], [3, 4]], np.float32), 0  # of A, B and C
for c, node, want in (
    (", float[2, 2] c", "<alpha=0.0> (a, b, c)", x),
    ("", "<alpha=0.5, transB=1> (a, b)", x @ x.T / 2),
):
    graph = f"g (float[2, 2] a, float[2, 2] b{c}) => (float[2, 2] y) {{ y = Gemm {node} }}"
    onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + graph), "m.onnx")
    subprocess.run([pnnx, "m.onnx", "fp16=0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    net = ncnn.Net()
    assert net.load_param("m.ncnn.param") == 0 and net.load_model("m.ncnn.bin") == 0
    extractor = net.create_extractor()
    for name in net.input_names():
        extractor.input(name, ncnn.Mat(x).clone())
    y = np.array(extractor.extract("out0")[1])
    print("expected", node, want.tolist(), "\ngot     ", node, y.tolist())
    wrong += not np.allclose(y, want)
sys.exit(int(wrong > 0))
