"""MNN 3.6.1: MaxUnpool takes indices as places in output_shape, not in the shape that the pooling had.

Rule: ONNX MaxUnpool 22: the indices are places in the shape that follows from kernel_shape, strides and pads;
output_shape 'will cause pads values to be auto generated'.
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

inputs = {"x": np.array([[[[1]]]], np.float32), "i": np.array([[[[3]]]], np.int64)}
constants = [onnx.numpy_helper.from_array(np.array([1, 1, 3, 3], np.int64), "shape")]
expected = np.zeros((1, 1, 3, 3), np.float32)
expected[0, 0, 1, 1] = 1  # index 3 of the 2 x 2 elements that were pooled
nodes = [h.make_node("MaxUnpool", ["x", "i", "shape"], ["y"], kernel_shape=[2, 2], strides=[2, 2])]
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
output = h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)
graph = h.make_graph(nodes, "g", ports, [output], constants)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 22)], ir_version=10)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
_tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
module = nn.load_module_from_file("m.mnn", list(inputs), ["y"])
given = []
for x in inputs.values():
    whole = x.dtype.kind in "iu"
    of = expressions.int if whole else expressions.float
    given.append(expressions.placeholder(list(x.shape), expressions.NCHW, of))
    given[-1].write(x.astype(np.int32 if whole else np.float32))
found = module.forward(given)
y = found[0] if isinstance(found, (list, tuple)) else found
y = expressions.convert(y, expressions.NCHW).read()
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
