"""MXNet 1.9.1 (onnx2mx): an initializer that is no input of the graph is a KeyError.

Rule: onnx/docs/IR.md, IR version 4 and later: an initializer need not be an input of the graph. mx2onnx itself writes
limits, shapes and sizes so. import_onnx.py looks into the graph's inputs and the nodes' outputs only.
Upstream: https://github.com/apache/mxnet/issues/20799 (the project is retired).
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
    helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2]),
    helper.make_tensor_value_info("y", TensorProto.FLOAT, [4]),
]
shape = numpy_helper.from_array(np.array([-1]), "shape")
graph = helper.make_graph([helper.make_node("Reshape", ["x", "shape"], ["y"])], "g", ports[:1], ports[1:], [shape])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
path = os.path.join(tempfile.mkdtemp(), "model.onnx")
onnx.save(model, path)
try:
    symbol, weights, statistics = importer.import_model(path)
    got = symbol.infer_shape(x=(2, 2))[1]
except KeyError as error:
    got = f"{type(error).__name__}: {error}"
print("expected", [(4,)], "and MXNet", mxnet.__version__)
print("got     ", got)
sys.exit(0 if got == [(4,)] else 1)
