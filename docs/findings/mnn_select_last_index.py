"""MNN 3.6.1: ArgMax ignores select_last_index: the first of equal values wins.

Rule: ONNX ArgMax 13: 'If select_last_index is True (default False), the index of the last occurrence of the max is selected'.
ArgMin does the same.
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

inputs = {"x": np.array([2, 2, 1], np.float32)}
expected = np.array([1])
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("ArgMax", ["x"], ["y"], axis=0, select_last_index=1)
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
