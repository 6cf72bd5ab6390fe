"""ncnn 1.0.20261020 (x86, SIMD): pow of a base that is 0 or negative gives 2.4e38 where it runs in vectors.

Rule: ONNX Pow 15: 'the function f(x) = x^exponent, is applied to the data tensor elementwise'; (-2) ** 3 is -8.
The layer BinaryOp with op 6 (pow) computes whole vectors another way than the elements that are left over: of three
elements all are right, of four none whose base is 0 or below. So Gelu (tanh) written out is wrong for every negative x.
Upstream: https://github.com/Tencent/ncnn/issues/2139 (pow is exp(y * ln(x))), https://github.com/Tencent/ncnn/issues/4215
Needs ncnn==1.0.20261020 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import ncnn
import numpy as np

os.chdir(tempfile.mkdtemp())
with open("m.param", "w") as file:
    file.write("7767517\n2 2\nInput in0 0 1 in0\nBinaryOp p 1 1 in0 out0 0=6 1=1 2=3.0\n")  # x ** 3.0
open("m.bin", "wb").close()
net = ncnn.Net()
net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
assert net.load_param("m.param") == 0 and net.load_model("m.bin") == 0
x = np.array([-2, -0.5, 0, 2], np.float32)
extractor = net.create_extractor()
extractor.input("in0", ncnn.Mat(x).clone())
y = np.array(extractor.extract("out0")[1])
print("expected", (x**3).tolist())
print("got     ", y.tolist())
sys.exit(int(not np.allclose(y, x**3)))
