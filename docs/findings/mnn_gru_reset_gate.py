"""MNN 3.6.1: a GRU with constant weights applies the reset gate after the product.

Rule: ONNX GRU 14, linear_before_reset = 0 (the default): ht = g(Xt*(Wh^T) + (rt (.) Ht-1)*(Rh^T) + Rbh + Wbh).
The converter unrolls it into a loop that computes rt (.) (Ht-1*(Rh^T)), as for linear_before_reset = 1 without its bias.
The first step, from a state of 0, is right; with weights that are inputs another kernel is right.
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

rng = np.random.default_rng(0)
w, r = rng.standard_normal((1, 6, 2)).astype("f4"), rng.standard_normal((1, 6, 2)).astype("f4")
state, states = np.zeros(2), []
for _ in range(2):
    (az, ar, ah), (rz, rr, rh) = np.split(w[0].sum(1), 3), np.split(r[0], 3)
    z, reset = 1 / (1 + np.exp(-az - rz @ state)), 1 / (1 + np.exp(-ar - rr @ state))
    state = (1 - z) * np.tanh(ah + rh @ (reset * state)) + z * state
    states.append(state)
inputs = {"x": np.ones((2, 1, 2), np.float32)}
expected = np.stack(states)[:, None, None].astype(np.float32)
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("GRU", ["x", "w", "r"], ["y"], hidden_size=2)
graph = h.make_graph(
    [node],
    "g",
    ports,
    [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)],
    [onnx.numpy_helper.from_array(w, "w"), onnx.numpy_helper.from_array(r, "r")],
)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 14)], ir_version=8), "m.onnx")
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
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected, atol=1e-4)))
