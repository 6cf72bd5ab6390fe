"""onnxruntime 1.31.1: MatMul of a stack of matrices without rows and a vector is refused at run time.

Rule: MatMul 13 "behaves like numpy.matmul": [1, 1, 0, 1] @ [1] has the shape [1, 1, 0]. Shape inference and the session
take it; the kernel says "left operand cannot broadcast on dim 2".
Upstream: https://github.com/microsoft/onnxruntime/issues/11895
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


a, b = np.zeros((1, 1, 0, 1), np.float32), np.zeros(1, np.float32)
graph = helper.make_graph(
    [helper.make_node("MatMul", ["a", "b"], ["y"])], "g", [port("a", a), port("b", b)], [port("y", a[..., 0])]
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
try:
    got = list(run(model, a=a, b=b)[0].shape)
except Exception as error:  # a class of the extension module
    got = f"{type(error).__name__}: {str(error)[-160:]}"
print("expected", [1, 1, 0])
print("got     ", got)
sys.exit(0 if got == [1, 1, 0] else 1)
