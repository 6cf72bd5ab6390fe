"""MXNet 1.9.1 (onnx2mx): Unsqueeze 13, whose axes are an input, is a KeyError: 'axes'.

Rule: ONNX Unsqueeze 13: axes is the second input; the attribute of that name ended with opset 11.
The initializer is an input of the graph here, without which onnx2mx fails for another reason (onnx2mx_initializer.py).
Upstream: none known (the project is retired).
Needs: pip install mxnet==1.9.1 onnx numpy==1.23.5. Exits with 1 while the defect shows.
"""

import os
import sys
import tempfile

import numpy as np

np.bool = bool  # MXNet 1.9 asks for the name, which numpy 1.24 took away
import mxnet  # noqa: E402
import onnx  # noqa: E402
from mxnet.contrib import onnx as importer  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

ports = [
    helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]),
    helper.make_tensor_value_info("axes", TensorProto.INT64, [1]),
    helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, 3]),
]
axes = numpy_helper.from_array(np.array([0]), "axes")
graph = helper.make_graph([helper.make_node("Unsqueeze", ["x", "axes"], ["y"])], "g", ports[:2], ports[2:], [axes])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
path = os.path.join(tempfile.mkdtemp(), "model.onnx")
onnx.save(model, path)
try:
    symbol, weights, statistics = importer.import_model(path)
    got = symbol.infer_shape(x=(2, 3))[1]
except KeyError as error:
    got = f"{type(error).__name__}: {error}"
print("expected", [(1, 2, 3)], "and MXNet", mxnet.__version__)
print("got     ", got)
sys.exit(0 if got == [(1, 2, 3)] else 1)
