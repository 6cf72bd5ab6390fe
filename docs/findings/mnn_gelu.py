"""MNN 3.6.1: an exact GELU written with Erf is replaced, unasked, by the approximation with tanh.

Rule: ONNX Erf 13 'computes the error function of the given input tensor element-wise'; Div, Add and Mul are plain.
The converter recognises 0.5 * x * (1 + Erf(x / sqrt(2))). The error grows from 2e-7 to 4.7e-4 (here is 1e-5 allowed).
`--useGeluApproximation 0` gives the exact one; the adapter of this project passes it.
Needs mnn==3.6.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import math
import os
import sys
import tempfile

import _tools  # the converter itself: the command mnnconvert installs packages when it starts (mnn_pip.py)
import MNN.expr as expressions
import MNN.nn as nn
import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx import helper as h

os.chdir(tempfile.mkdtemp())
constants = [numpy_helper.from_array(np.float32(v), k) for k, v in (("s", 2**0.5), ("one", 1), ("half", 0.5))]
steps = (
    ("Div", "x", "s", "a"),
    ("Erf", "a", "", "b"),
    ("Add", "b", "one", "c"),
    ("Mul", "x", "c", "d"),
    ("Mul", "d", "half", "y"),
)
nodes = [h.make_node(kind, [name for name in (a, b) if name], [out]) for kind, a, b, out in steps]
ports = [[h.make_tensor_value_info(name, TensorProto.FLOAT, [1, 64])] for name in "xy"]
graph = h.make_graph(nodes, "g", *ports, constants)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "m.onnx")
x = np.linspace(-4, 4, 64, dtype=np.float32)[None]
expected = 0.5 * x * (1 + np.vectorize(math.erf)(x / 2**0.5))
_tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
manager = nn.create_runtime_manager(({"backend": "CPU", "precision": "high", "numThread": 1},))
module = nn.load_module_from_file("m.mnn", ["x"], ["y"], runtime_manager=manager)
given = expressions.placeholder([1, 64], expressions.NCHW, expressions.float)
given.write(x)
y = expressions.convert(module.forward([given])[0], expressions.NCHW).read()
at = int(np.abs(y - expected).argmax())
print(f"expected {expected[0, at]:.7f} at x = {x[0, at]:.4f}")
print(f"got      {y[0, at]:.7f}")
sys.exit(int(np.abs(y - expected).max() > 1e-5))
