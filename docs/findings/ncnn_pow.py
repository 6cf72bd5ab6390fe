"""ncnn 1.0.20261020 (x86, SIMD): pow of a base that is 0 or negative gives 2.4e38, unless it falls into the last few elements.

ONNX Pow 15 is pointwise f(x) = x ** y; C's pow(-2, 3) is -8, pow(0, y) is 0 for y > 0. ncnn's BinaryOp with op 6 (pow) computes
whole vectors another way than the scalars that are left over: of 3 elements all are right, of 4 none whose base is below 0.
So `Gelu(tanh)` written out (x ** 3) is wrong for every negative x, and onnx's test_pow for the base 0.
Needs: ncnn. Run: python ncnn_pow.py   (ends with 1 while the defect shows)
"""
import os, sys, tempfile
import ncnn, numpy as np

folder = tempfile.mkdtemp()
param = os.path.join(folder, "m.param")
with open(param, "w") as file:
    file.write("7767517\n2 2\nInput in0 0 1 in0\nBinaryOp p 1 1 in0 out0 0=6 1=1 2=3.0\n")  # x ** 3.0
open(os.path.join(folder, "m.bin"), "wb").close()
net = ncnn.Net()
net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
assert net.load_param(param) == 0 and net.load_model(os.path.join(folder, "m.bin")) == 0
wrong = False
for x in ([-2, -0.5, 0], [-2, -0.5, 0, 2], [-2, -0.5, 0, 2, -3]):
    x = np.array(x, np.float32)
    extractor = net.create_extractor()
    extractor.input("in0", ncnn.Mat(x).clone())
    y = np.array(extractor.extract("out0")[1])
    wrong |= not np.allclose(y, x**3)
    print(x.tolist(), "** 3 =", y.tolist(), "wanted", (x**3).tolist())
sys.exit(int(wrong))
