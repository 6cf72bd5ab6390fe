"""onnxruntime 1.31.1: Gemm with an inner dimension of 0 forgets beta.

Rule: Gemm 13: "Compute Y = alpha * A' * B' + beta * C"; with K = 0 the product is a matrix of zeros, and Y is beta * C.
The CPU kernel gives C itself. With K = 1 and A = 0 it is right.
Upstream: https://github.com/microsoft/onnxruntime/pull/22111 ("filled with bias if present") introduced the case.
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


a, b, c = np.zeros((1, 0), np.float32), np.zeros((0, 1), np.float32), np.array([[4]], np.float32)
node = helper.make_node("Gemm", list("abc"), ["y"], beta=0.5)
graph = helper.make_graph([node], "g", [port("a", a), port("b", b), port("c", c)], [port("y", c)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
got = float(run(model, a=a, b=b, c=c)[0][0, 0])
print("expected", 2.0)
print("got     ", got)
sys.exit(0 if got == 2 else 1)
