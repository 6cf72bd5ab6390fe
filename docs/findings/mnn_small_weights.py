"""MNN 3.6.1: weights in 8 bits whose range is below 2.55e-4 are all stored as the smallest of them.

Rule: Conv 11, "the weight tensor that will be used in the convolutions". The converter (--weightQuantBits 8) writes a
scale for every output channel, here 2e-4 / 255, with which each weight has an integer within half a step. It writes
-128 for all of them: the layer computes with 16 weights that are equal. From a step of 1e-6 on the integers are right.
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
from onnx import helper as h

os.chdir(tempfile.mkdtemp())

weights = np.linspace(-1e-4, 1e-4, 16, dtype=np.float32).reshape(1, 16, 1, 1)
ports = [h.make_tensor_value_info(name, 1, [1, size, 1, 1]) for name, size in (("x", 16), ("y", 1))]
constant = onnx.numpy_helper.from_array(weights, "w")
graph = h.make_graph([h.make_node("Conv", ["x", "w"], ["y"])], "g", ports[:1], ports[1:], [constant])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8), "m.onnx")
files = ["--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"]
_tools.mnnconvert(["mnnconvert", "-f", "ONNX", *files, "--weightQuantBits", "8"])
module = nn.load_module_from_file("m.mnn", ["x"], ["y"])
x = np.sign(weights)  # every weight adds its size
given = expressions.placeholder(list(x.shape), expressions.NCHW, expressions.float)
given.write(x)
found = module.forward([given])
y = found[0] if isinstance(found, (list, tuple)) else found
got, expected = float(expressions.convert(y, expressions.NCHW).read().ravel()[0]), float(abs(weights).sum())
print(f"expected {expected:.2e}")
print(f"got      {got:.2e}")
sys.exit(0 if abs(got - expected) < 16 * 1e-6 else 1)
