"""onnxruntime 1.31.1 (arguable): Attention's qk_matmul_output holds the lowest finite number where a place is masked.

Rule: Attention 23, qk_matmul_output_mode 2: the output "includes the attention mask". A place above the causal diagonal
has -Inf in the operator's function body and in onnx's case
test_attention_4d_with_past_and_present_qk_matmul_bias_3d_mask_causal. Arguable, because the text of opset 23 says
"masked out" and names no number. The result Y is right.
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


x = np.ones((1, 1, 2, 1), np.float32)
scores = np.ones((1, 1, 2, 2), np.float32)
node = helper.make_node("Attention", list("qkv"), ["y", "", "", "s"], is_causal=1, qk_matmul_output_mode=2)
graph = helper.make_graph([node], "g", [port(name, x) for name in "qkv"], [port("y", x), port("s", scores)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
got = run(model, q=x, k=x, v=x)[1][0, 0].tolist()
print("expected", [[1.0, -np.inf], [1.0, 1.0]])
print("got     ", got)
sys.exit(0 if got[0][1] == -np.inf else 1)
