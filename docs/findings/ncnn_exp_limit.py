"""ncnn 1.0.20261020 (x86, SIMD): exp and cosh take no argument above 88.376, so that Inf never comes.

Rule: ONNX Exp 13 'Calculates the exponential of the given input tensor, element-wise', Cosh 9 'the hyperbolic cosine'.
exp(89) is 4.5e38, beyond float32, so Inf; cosh(89) is 2.2e38, a float32, and cosh(100) Inf. The function that computes
whole vectors limits the argument to what has no overflow.
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


wrong = 0
for name, kind, values, expected in (
    ("exp", 7, [88, 89], [1.6516363e38, np.inf]),
    ("cosh", 24, [88, 89, 100], [8.2581813e37, 2.2448064e38, np.inf]),
):
    y = run(f"UnaryOp u 1 1 in0 out0 0={kind}", np.array(values, np.float32))
    print("expected", name, expected)
    print("got     ", name, y.tolist())
    wrong += not np.allclose(y, expected, rtol=1e-4)
sys.exit(int(wrong > 0))
