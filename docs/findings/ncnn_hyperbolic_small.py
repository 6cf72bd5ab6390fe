"""ncnn 1.0.20261020 (arguable; x86, SIMD): sinh, asinh, atanh and tanh lose the digits of small results.

Rule: none states a bound; ONNX Sinh 9, Asinh 9, Atanh 9 and Tanh 13 name the functions, and this project wants 4 ULP,
of Tanh 5 (docs/operators.md). They are made of exp and log, which subtracts nearly equal numbers or adds a small one
to 1.
Upstream: none known.
Needs ncnn==1.0.20261020 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import ncnn
import numpy as np

os.chdir(tempfile.mkdtemp())


def run(layer, x):
    """What ncnn gives for one layer, in float32."""
    with open("m.param", "w") as file:
        file.write(f"7767517\n2 2\nInput in0 0 1 in0\n{layer}\n")
    open("m.bin", "wb").close()
    net = ncnn.Net()
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    assert net.load_param("m.param") == 0 and net.load_model("m.bin") == 0
    extractor = net.create_extractor()
    extractor.input("in0", ncnn.Mat(x).clone())
    return np.array(extractor.extract("out0")[1])


x = np.array([0.001, 0.068], np.float32)
wrong = 0
for name, layer, function in (
    ("sinh", "UnaryOp u 1 1 in0 out0 0=22", np.sinh),
    ("asinh", "UnaryOp u 1 1 in0 out0 0=23", np.arcsinh),
    ("atanh", "UnaryOp u 1 1 in0 out0 0=26", np.arctanh),
    ("tanh", "TanH u 1 1 in0 out0", np.tanh),
):
    expected = function(x.astype(np.float64))
    y = run(layer, x)
    print("expected", name, expected.tolist())
    print("got     ", name, y.tolist())
    wrong += not np.allclose(y, expected, rtol=1e-6, atol=0)
sys.exit(int(wrong > 0))
