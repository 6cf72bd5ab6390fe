"""MNN 3.6.1: Pad with a negative number, which crops, gives other values.

Rule: ONNX Pad 13, pads: 'Tensor of integers indicating the number of padding elements to add or remove (if negative) at
the beginning and end of each axis.'
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

inputs = {"x": np.array([[1, 2, 3, 4]], np.float32)}
expected = np.array([[0, 1, 2, 3]], np.float32)
pads = onnx.numpy_helper.from_array(np.array([0, 1, 0, -1], np.int64), "pads")
v = onnx.numpy_helper.from_array(np.array(0, np.float32), "v")
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("Pad", ["x", "pads", "v"], ["y"])
graph = h.make_graph(
    [node],
    "g",
    ports,
    [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)],
    [pads, v],
)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=8), "m.onnx")
_tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
module = nn.load_module_from_file("m.mnn", list(inputs), ["y"])
given = []
for x in inputs.values():
    given.append(expressions.placeholder(list(x.shape), expressions.NCHW, expressions.float))
    given[-1].write(x)
found = module.forward(given)
if not len(found):
    print("expected", expected.tolist())
    print("got      no output (Compute Shape Error)")
    sys.exit(1)
y = found[0]
y = expressions.convert(y, expressions.NCHW).read()
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
