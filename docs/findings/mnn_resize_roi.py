"""MNN 3.6.1: Resize with tf_crop_and_resize gives wrong values, which differ from process to process.

Rule: ONNX Resize 19: roi gives the part of the input that tf_crop_and_resize takes, from start to end of every axis.
The run prints "Don't support CoordinateTransformationMode_TensorflowCropAndResize currently" and goes on, with any roi.
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

inputs = {"x": np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)}
constants = [onnx.numpy_helper.from_array(np.array([0, 0, 0, 0, 1, 1, 1 / 3, 1 / 3], np.float32), "roi")]
constants += [onnx.numpy_helper.from_array(np.array([1, 1, 2, 2], np.int64), "sizes")]
expected = inputs["x"][:, :, :2, :2]  # the roi's ends are the places 0 and 1 of both axes
mode = "tf_crop_and_resize"
nodes = [h.make_node("Resize", ["x", "roi", "", "sizes"], ["y"], mode="linear", coordinate_transformation_mode=mode)]
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
output = h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)
graph = h.make_graph(nodes, "g", ports, [output], constants)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 19)], ir_version=10)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
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
