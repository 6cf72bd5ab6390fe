"""MNN 3.6.1: ConvTranspose in three dimensions adds its bias to a part of the depths alone.

Rule: ONNX ConvTranspose 11: B is 'Optional 1D bias to be added to the convolution', to every element of its channel.
With a stride of 2 half of the depths go without. Without a bias all values are right, and with one in two dimensions too.
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
wrong = False
for rank in (2, 3):
    x, w = np.ones((1, 1, *[1] * rank), np.float32), np.zeros((1, 1, *[2] * rank), np.float32)
    constants = [onnx.numpy_helper.from_array(w, "w"), onnx.numpy_helper.from_array(np.ones(1, np.float32), "b")]
    expected = np.ones((1, 1, *[2] * rank), np.float32)  # weights of zeros leave the bias
    node = h.make_node("ConvTranspose", ["x", "w", "b"], ["y"], strides=[2] * rank, kernel_shape=[2] * rank)
    ports = [h.make_tensor_value_info("x", 1, x.shape)], [h.make_tensor_value_info("y", 1, expected.shape)]
    model = h.make_model(
        h.make_graph([node], "g", *ports, constants), opset_imports=[h.make_opsetid("", 11)], ir_version=8
    )
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
    module = nn.load_module_from_file("m.mnn", ["x"], ["y"])
    given = expressions.placeholder(list(x.shape), expressions.NCHW, expressions.float)
    given.write(x)
    found = module.forward([given])
    y = expressions.convert(found[0] if isinstance(found, (list, tuple)) else found, expressions.NCHW).read()
    wrong |= not np.array_equal(y, expected)
    print(f"{rank} dimensions:\nexpected {expected.ravel().tolist()}\ngot      {y.ravel().tolist()}")
sys.exit(int(wrong))
