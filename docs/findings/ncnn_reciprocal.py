"""ncnn 1.0.20261020 (x86, SIMD): reciprocal of 0, of Inf and of numbers below the smallest normal float32 is NaN.

Rule: ONNX Reciprocal 13: 'y = 1/x, is applied to the tensor elementwise'; in IEEE 754 1/0 is Inf and 1/Inf is 0. An
approximation is improved by one step of Newton's method, which multiplies 0 by Inf there. rsqrt does the same.
Upstream: https://github.com/Tencent/ncnn/issues/1284 tells of 1/Inf in Sigmoid (open).
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


x = np.array([0, np.inf, 1e-40, 4], np.float32)
expected = [np.inf, 0, np.inf, 0.25]
y = run("UnaryOp u 1 1 in0 out0 0=15", x)
print("expected", expected)
print("got     ", y.tolist())
sys.exit(int(not np.allclose(y, expected, rtol=1e-5)))
