"""ncnn 1.0.20261020 (x86, SIMD): atan of Inf and of -Inf is NaN.

Rule: ONNX Atan 7 'Calculates the arctangent (inverse of tangent) of the given input tensor, element-wise', which is
pi/2 of Inf and -pi/2 of -Inf; of 1e30 it is right.
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


x = np.array([np.inf, -np.inf, 1e30], np.float32)
expected = [np.pi / 2, -np.pi / 2, np.pi / 2]
y = run("UnaryOp u 1 1 in0 out0 0=14", x)
print("expected", expected)
print("got     ", y.tolist())
sys.exit(int(not np.allclose(y, expected)))
