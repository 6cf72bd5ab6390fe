"""onnxruntime 1.31.1: Attention refuses an attn_mask that is shorter than the keys.

Rule: Attention 24, input attn_mask: "The last dimension can also be shorter than total_sequence_length and will be
padded to total_sequence_length with negative infinity" (onnx's case test_attention_4d_diff_heads_mask4d_padded_kv). The
kernel says "inconsistent total_sequence_length".
Upstream: none known.
Needs: pip install onnxruntime==1.31.1 onnx numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper


def run(model, **inputs):
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def port(name, x):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)


q, kv = np.ones((1, 1, 1, 1), np.float32), np.array([1, 2, 30], np.float32).reshape(1, 1, 3, 1)
given = {"q": q, "k": np.ones_like(kv), "v": kv, "m": np.zeros((1, 2), np.float32), "n": np.array([2])}
node = helper.make_node("Attention", ["q", "k", "v", "m", "", "", "n"], ["y"])
graph = helper.make_graph([node], "g", [port(name, x) for name, x in given.items()], [port("y", q)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11)
try:
    got = float(run(model, **given)[0].ravel()[0])
except Exception as error:  # a class of the extension module
    got = f"{type(error).__name__}: {str(error)[-200:]}"
print("expected", 1.5, "the mean of the first two values")
print("got     ", got)
sys.exit(0 if got == 1.5 else 1)
