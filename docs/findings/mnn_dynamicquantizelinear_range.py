"""MNN 3.6.1: DynamicQuantizeLinear does not extend the range of its input to 0.

Rule: ONNX DynamicQuantizeLinear 11: y_scale = (maximum(0, max(x)) - minimum(0, min(x))) / (qmax - qmin), 'data range is
adjusted to include 0'. Of [-1, -4] MNN takes 3 for the range, and the zero point is not limited to the range of integers.
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

inputs = {"x": np.array([-1, -4], np.float32)}
expected = np.array(4 / 255, np.float32)  # the scale
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("DynamicQuantizeLinear", ["x"], ["q", "y", "zero"])
results = [h.make_tensor_value_info(name, kind, None) for name, kind in (("q", 2), ("y", 1), ("zero", 2))]
graph = h.make_graph([node], "g", ports, results)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "m.onnx")
_tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
module = nn.load_module_from_file("m.mnn", list(inputs), ["q", "y", "zero"])
given = []
for x in inputs.values():
    given.append(expressions.placeholder(list(x.shape), expressions.NCHW, expressions.float))
    given[-1].write(x)
found = module.forward(given)
y = expressions.convert(found[1], expressions.NCHW).read()
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.size != 1 or not np.allclose(y.ravel(), expected)))
