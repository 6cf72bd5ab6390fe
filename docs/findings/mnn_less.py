"""MNN 3.6.1: Less of two negative float32 compares their bits as integers: -1 < -2 is true.

Rule: ONNX Less 13: A < B element by element; -1 is not less than -2.
Greater, GreaterOrEqual, LessOrEqual and Equal are right. What is built on Less is wrong too: Clip written out,
Shrink, Where. Eleven of onnx's own cases fail by it.
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

inputs = {"a": np.array([-1, -2, 1], np.float32), "b": np.array([-2, -1, 2], np.float32)}
expected = np.array([0, 1, 1])
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("Less", ["a", "b"], ["y"])
graph = h.make_graph(
    [node], "g", ports, [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)]
)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "m.onnx")
_tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
module = nn.load_module_from_file("m.mnn", list(inputs), ["y"])
given = []
for x in inputs.values():
    given.append(expressions.placeholder(list(x.shape), expressions.NCHW, expressions.float))
    given[-1].write(x)
found = module.forward(given)
y = found[0] if isinstance(found, (list, tuple)) else found
y = expressions.convert(y, expressions.NCHW).read()
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
