"""MXNet 1.9.1: amp.convert_model to bfloat16 leaves RNN, with the weights of its LSTM, GRU and RNN, in float32.

Rule: mxnet/contrib/amp/lists/symbol_bf16.py has Convolution and FullyConnected alone among BF16_FUNCS, and RNN among
FP32_FUNCS; symbol_fp16.py has RNN among FP16_FUNCS.
Upstream: none known.
Needs mxnet==1.9.1. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import mxnet as mx
import numpy as np
from mxnet.contrib import amp

x, weights, state, cell = (mx.sym.var(name) for name in ("x", "weights", "state", "cell"))
lstm = mx.sym.RNN(x, weights, state, state_cell=cell, mode="lstm", state_size=2, num_layers=1, name="lstm")
shapes = {"x": (3, 1, 2), "state": (1, 1, 2), "cell": (1, 1, 2)}
names = lstm.list_arguments()
values = {name: mx.nd.ones(shape) for name, shape in zip(names, lstm.infer_shape(**shapes)[0])}
got = {}
for dtype in ("float16", "bfloat16"):
    graph, _, _ = amp.convert_model(lstm, {"weights": values["weights"]}, {}, target_dtype=dtype)
    inner = graph.get_internals()
    _, types, _ = inner.infer_type(**dict.fromkeys(shapes, "float32"))
    found = dict(zip(inner.list_outputs(), types))["lstm_output"]
    got[dtype] = "float32" if found is np.float32 else "of 16 bits"
print("expected the LSTM is of 16 bits in both")
print("got     ", got)
sys.exit(int(got["bfloat16"] == "float32"))
