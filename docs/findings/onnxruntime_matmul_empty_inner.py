"""onnxruntime 1.31.1: MatMul with an inner dimension of 0 and a vector on the right gives memory that nobody wrote.

Rule: MatMul 13 "behaves like numpy.matmul": a sum over nothing is 0, and [4, 0] @ [0] is four zeros. The result may get
the memory of an earlier one, here of NaN, so y is NaN, left-overs, or by chance 0. With a matrix [0, 1] on the right it
is right.
Upstream: https://github.com/microsoft/onnxruntime/issues/21483 says that the CPU provider handles inner dimensions of
0.
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


a, b, n = np.zeros((1, 1, 4, 0), np.float32), np.zeros(0, np.float32), np.full((1, 1, 4), np.nan, np.float32)
nodes = [
    helper.make_node("Abs", ["n"], ["m"]),  # m is freed before y is made
    helper.make_node("Neg", ["m"], ["z"]),
    helper.make_node("MatMul", ["a", "b"], ["y"]),
]
graph = helper.make_graph(nodes, "g", [port("a", a), port("b", b), port("n", n)], [port("z", n), port("y", n)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
got = [run(model, a=a, b=b, n=n)[1].ravel().tolist() for _ in range(50)]
wrong = [y for y in got if y != [0.0] * 4]
print("expected", [0.0] * 4, "in each of 50 runs")
print("got     ", wrong[0] if wrong else [0.0] * 4, "in", len(wrong) or 50)
sys.exit(1 if wrong else 0)
