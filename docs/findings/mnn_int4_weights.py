"""MNN 3.6.1: weights of 4 bits are dropped by the converter, and the model computes with other memory.

Rule: DequantizeLinear 21 takes int4, MatMul 13. The converter prints "Convert no data, Please make sure", ends as if it
had succeeded, and writes a model that the engine loads.
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
from onnx import TensorProto
from onnx import helper as h

os.chdir(tempfile.mkdtemp())

weights = h.make_tensor("q", TensorProto.INT4, [64, 32], bytes([0x11] * 1024), raw=True)  # nothing but ones
scale = onnx.numpy_helper.from_array(np.float32(1), "s")
nodes = [h.make_node("DequantizeLinear", ["q", "s"], ["w"]), h.make_node("MatMul", ["x", "w"], ["y"])]
ports = [h.make_tensor_value_info(name, 1, [1, size]) for name, size in (("x", 64), ("y", 32))]
graph = h.make_graph(nodes, "g", ports[:1], ports[1:], [weights, scale])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10), "m.onnx")
_tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
module = nn.load_module_from_file("m.mnn", ["x"], ["y"])
given = expressions.placeholder([1, 64], expressions.NCHW, expressions.float)
given.write(np.ones((1, 64), np.float32))
found = module.forward([given])
y = found[0] if isinstance(found, (list, tuple)) else found
got = expressions.convert(y, expressions.NCHW).read().ravel()[:3].tolist()
print("expected", [64.0] * 3)
print("got     ", got)
sys.exit(0 if got == [64.0] * 3 else 1)
