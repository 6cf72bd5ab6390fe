"""MNN 3.6.1: MaxPool of uint8 takes numbers above 127 for negative ones: the largest of 255, 0 and 2 is 2.

Rule: ONNX MaxPool 12, constraint T: tensor(uint8).
The placeholder has the type that the module says it wants, uint8.
Upstream: none known.
Needs mnn==3.6.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import _tools  # the converter itself: the command mnnconvert installs packages when it starts (mnn_pip.py)
import MNN.expr as expressions
import MNN.nn as nn
import numpy as np
import onnx

os.chdir(tempfile.mkdtemp())
x = np.array([255, 0, 2, 1], np.uint8).reshape(1, 1, 1, 4)
graph = "g (uint8[1, 1, 1, 4] x) => (uint8[1, 1, 1, 1] y) { y = MaxPool<kernel_shape = [1, 3], strides = [1, 2]>(x) }"
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + graph)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
_tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
module = nn.load_module_from_file("m.mnn", ["x"], ["y"])
given = expressions.placeholder(list(x.shape), expressions.NCHW, expressions.uint8)
given.write(x)
found = module.forward([given])
y = (found[0] if isinstance(found, (list, tuple)) else found).read().ravel().tolist()
print("expected", [255])
print("got     ", y)
sys.exit(int(y != [255]))
