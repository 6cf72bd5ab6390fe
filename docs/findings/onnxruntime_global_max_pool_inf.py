"""onnxruntime 1.31.1: GlobalMaxPool of nothing but -Inf gives the lowest finite number.

Rule: GlobalMaxPool 1: the maximum of the values, as ReduceMax has it; the maximum of -Inf is -Inf. The search begins with
-3.4e38. MaxPool does the same with strides of 1, and gives -Inf where the windows do not overlap.
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


x = np.full((1, 1, 1, 2), -np.inf, np.float32)
graph = helper.make_graph(
    [helper.make_node("GlobalMaxPool", ["x"], ["y"])], "g", [port("x", x)], [port("y", x[..., :1])]
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
got = float(run(model, x=x)[0].ravel()[0])
print("expected", -np.inf)
print("got     ", got)
sys.exit(0 if got == -np.inf else 1)
