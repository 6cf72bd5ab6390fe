"""MXNet 1.9.1 (arguable): amp.convert_model to bfloat16 leaves a Concat with operands of two types, which it then refuses.

Rule: mxnet/contrib/amp/lists/symbol_bf16.py on WIDEST_TYPE_CASTS: 'Functions with multiple inputs, that need the same
type of all their inputs'. The list for float16 has Concat there, that for bfloat16 has it among operators of either type.
Upstream: none known.
Needs mxnet==1.9.1. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import mxnet as mx
from mxnet.contrib import amp

x, weight = mx.sym.var("x"), mx.sym.var("weight")
narrow = mx.sym.Convolution(x, weight, kernel=(1, 1), num_filter=2, no_bias=True)
wide = mx.sym.contrib.BilinearResize2D(x, height=4, width=4)  # one of the operators that stay in float32
weights = {"weight": mx.nd.ones((2, 2, 1, 1))}
got = {}
for dtype in ("float16", "bfloat16"):
    try:
        amp.convert_model(mx.sym.concat(narrow, wide, dim=1), weights, {}, target_dtype=dtype)
        got[dtype] = "a model"
    except mx.MXNetError as error:
        got[dtype] = str(error).strip().splitlines()[-1].partition("failed: ")[2]
print("expected a model in both")
print("got     ", got)
sys.exit(int(got["bfloat16"] != "a model"))
