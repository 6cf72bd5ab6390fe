"""MNN 3.6.1: AveragePool in three dimensions pools the first sample of a batch alone; the others are left-over memory.

Rule: ONNX AveragePool 11: X is (N x C x D1 x D2 ... Dn), and every sample of the batch is pooled alike.
GeometryPooling3D copies each sample of an intermediate with offsets of 0 in the source and in the target, so the first
is copied onto itself. MaxPool does the same.
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

inputs = {"x": np.arange(24, dtype=np.float32).reshape(3, 1, 2, 2, 2)}
expected = np.array([3.5, 11.5, 19.5], np.float32).reshape(3, 1, 1, 1, 1)
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2] * 3, strides=[2] * 3, pads=[0] * 6)
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
