"""ncnn 1.0.20261020 (x86, SIMD): log of 0 is NaN, of Inf 88.7, and of 1e-40 that of the smallest normal number.

Rule: ONNX Log 13 'Calculates the natural log of the given input tensor, element-wise', in float32, whose numbers and
infinities are those of IEEE 754: log(0) is -Inf, log(Inf) is Inf, log(1e-40) is -92.1.
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


x = np.array([0, 1e-40, np.inf, 0.5], np.float32)
expected = [-np.inf, -92.1034, np.inf, -0.6931472]
y = run("UnaryOp u 1 1 in0 out0 0=8", x)
print("expected", expected)
print("got     ", y.tolist())
sys.exit(int(not np.allclose(y, expected, rtol=1e-4)))
