"""ncnn 1.0.20261020: GridSample in mode nearest rounds a place half-way between two elements up.

Rule: ONNX GridSample 20, mode: nearest 'rounds to the nearest even index when the sampling point falls halfway between
two indices'.
The places are 0.5, 1.5 and 2.5 (align_corners=0): the elements 0, 2 and 2.
Needs ncnn==1.0.20261020 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import ncnn
import numpy as np

os.chdir(tempfile.mkdtemp())
with open("m.param", "w") as file:
    file.write("7767517\n3 3\nInput in0 0 1 in0\nInput in1 0 1 in1\nGridSample g 2 1 in0 in1 out0 0=2 1=1 2=0 3=0\n")
open("m.bin", "wb").close()
net = ncnn.Net()
net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
assert net.load_param("m.param") == 0 and net.load_model("m.bin") == 0
x = np.array([[[1, 2, 3, 4]]], np.float32)
grid = np.array([[[-0.5, 0], [0, 0], [0.5, 0]]], np.float32)  # (x, y), from -1 to 1
expected = np.array([[[1, 3, 3]]], np.float32)
extractor = net.create_extractor()
extractor.input("in0", ncnn.Mat(x).clone())
extractor.input("in1", ncnn.Mat(grid).clone())
y = np.array(extractor.extract("out0")[1])
print("expected", expected.ravel().tolist())
print("got     ", y.ravel().tolist())
sys.exit(int(not np.allclose(y.ravel(), expected.ravel())))
