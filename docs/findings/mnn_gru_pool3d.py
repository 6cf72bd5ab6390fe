"""MNN 3.6.1: two silent wrong results of single operators with everything in the file constant but x.

- GRU with constant weights and linear_before_reset = 0 (the default). ONNX GRU 14: ht = g(Xt Wh^T + (rt (.) Ht-1) Rh^T +
  Rbh + Wbh). MNN's converter unrolls it into a loop that computes g(Xt Wh^T + rt (.) (Ht-1 Rh^T) + Rbh + Wbh): the reset
  gate comes after the product, as with linear_before_reset = 1. The first step, from a state of 0, is right, and later
  ones are off by tenths. With the weights as inputs another kernel is right.
- MaxPool and AveragePool in three dimensions: of a batch only the first sample is right. The specification treats every
  sample alike. GeometryPooling3D copies each sample of an intermediate with a source and target offset of 0.
Stage compile (GRU) and run (pooling), symptom mismatch. Needs numpy, onnx, mnn==3.6.1.
"""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h

import MNN.expr as expressions
import MNN.nn as nn
import _tools  # the converter itself: the command mnnconvert installs packages when it starts

os.chdir(tempfile.mkdtemp())


def run(node, x, constants, rank):
    inits = [onnx.numpy_helper.from_array(v, k) for k, v in constants.items()]
    graph = h.make_graph([node], "g", [h.make_tensor_value_info("x", T.FLOAT, x.shape)],
                         [h.make_tensor_value_info("y", T.FLOAT, [None] * rank)], inits)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "model.onnx")
    kept = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "model.onnx", "--MNNModel", "model.mnn", "--bizCode", "repro"])
    manager = nn.create_runtime_manager(({"backend": "CPU", "precision": "high", "numThread": 1},))
    module = nn.load_module_from_file("model.mnn", ["x"], ["y"], runtime_manager=manager, rearrange=False)
    variable = expressions.placeholder(list(x.shape), expressions.NCHW, expressions.float)
    variable.write(x)
    found = module.forward([variable])
    found = found[0] if isinstance(found, (list, tuple)) else found
    y = expressions.convert(found, expressions.NCHW).read().copy()
    os.dup2(kept, 1)
    return y


def gru(x, w, r, b, before):
    sigmoid = lambda v: 1 / (1 + np.exp(-v))
    wz, wr, wh = np.split(w[0], 3)
    rz, rr, rh = np.split(r[0], 3)
    wbz, wbr, wbh, rbz, rbr, rbh = np.split(b[0], 6)
    state, states = np.zeros((x.shape[1], rz.shape[1])), []
    for xt in x:
        z, t = sigmoid(xt @ wz.T + state @ rz.T + wbz + rbz), sigmoid(xt @ wr.T + state @ rr.T + wbr + rbr)
        inner = t * (state @ rh.T + rbh) if before else (t * state) @ rh.T + rbh
        other = t * (state @ rh.T) + rbh
        hidden = np.tanh(xt @ wh.T + (other if before is None else inner) + wbh)
        state = (1 - z) * hidden + z * state
        states.append(state)
    return np.array(states)[:, None]


rng = np.random.default_rng(0)
f = lambda *shape: rng.standard_normal(shape).astype(np.float32)
x, w, r, b = f(3, 1, 2), f(1, 9, 2), f(1, 9, 3), f(1, 18)
y = run(h.make_node("GRU", ["x", "w", "r", "b"], ["y"], hidden_size=3), x, {"w": w, "r": r, "b": b}, 4)
wrong = np.abs(y - gru(x, w, r, b, False)).max()
print("GRU: largest error per step", np.abs(y - gru(x, w, r, b, False)).reshape(3, -1).max(1), "; against the reset gate "
      "applied after the product:", np.abs(y - gru(x, w, r, b, None)).max())
x = np.arange(24, dtype=np.float32).reshape(3, 1, 2, 2, 2)
node = h.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2] * 3, strides=[2] * 3, pads=[0] * 6)
pooled = run(node, x, {}, 5).reshape(-1)
print("AveragePool in 3-D, three samples:", pooled.tolist(), "; expected", x.reshape(3, -1).mean(1).tolist())
sys.exit(1 if wrong > 1e-3 or not np.allclose(pooled, x.reshape(3, -1).mean(1)) else 0)
