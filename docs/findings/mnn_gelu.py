"""MNN 3.6.1: an erf GELU becomes another function (stage compile, symptom mismatch).

mnnconvert recognises 0.5 * x * (1 + Erf(x / sqrt(2))) and replaces it, unasked, by its approximate (tanh) GELU: off by
up to 4.7e-4. ONNX defines Erf as the error function, and the nodes are plain Div, Erf, Add, Mul. A transformer's E goes
from 2.4e-7 to 1.4e-4. `--useGeluApproximation 0` gives the exact one (1.8e-7 here); our adapter passes it unless the
option gelu=approximate is chosen. Needs numpy, onnx, mnn==3.6.1. `_tools` is the converter's own compiled module:
the command `mnnconvert` runs "pip install" when it starts, see mnn_pip.py.
"""

import math

import _tools
import MNN.expr as F
import MNN.nn as nn
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

N, shape = h.make_node, [1, 64]
constants = [numpy_helper.from_array(np.float32(v), k) for k, v in (("s", 2**0.5), ("one", 1), ("half", 0.5))]
nodes = [N("Div", ["x", "s"], ["a"]), N("Erf", ["a"], ["b"]), N("Add", ["b", "one"], ["c"]), N("Mul", ["x", "c"], ["d"]),
         N("Mul", ["d", "half"], ["y"])]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, shape)],
                     [h.make_tensor_value_info("y", T.FLOAT, shape)], constants)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "gelu.onnx")
x = np.linspace(-4, 4, 64, dtype="f4")[None]
truth = 0.5 * x * (1 + np.vectorize(math.erf)(x / 2**0.5))
for extra in ([], ["--useGeluApproximation", "0"]):
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "gelu.onnx", "--MNNModel", "gelu.mnn", "--bizCode", "b", *extra])
    manager = nn.create_runtime_manager(({"backend": "CPU", "precision": "high", "numThread": 1},))
    module = nn.load_module_from_file("gelu.mnn", ["x"], ["y"], runtime_manager=manager)
    v = F.placeholder(shape, F.NCHW, F.float)
    v.write(x)
    print("RESULT", extra or "default", "largest error", abs(F.convert(module.forward([v])[0], F.NCHW).read() - truth).max())
