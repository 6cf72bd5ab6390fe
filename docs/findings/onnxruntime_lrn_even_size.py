"""onnxruntime 1.31.1 (arguable): LRN with an even size is refused.

Rule: LRN 13: the window is c - floor((size - 1) / 2) to c + ceil((size - 1) / 2); floor and ceil differ only for even
sizes. Arguable, because the paper that the text names knows odd sizes only, and several tools refuse even ones (lrn.h:
size_ % 2 == 1).
Upstream: https://github.com/apache/mxnet/issues/11281 tells the same of MXNet.
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


x = np.array([1, 2], np.float32).reshape(1, 2, 1, 1)
expected = (x / (1 + 0.25 * np.array([5, 4], np.float32).reshape(1, 2, 1, 1)) ** 0.5).ravel().tolist()
node = helper.make_node("LRN", ["x"], ["y"], size=2, alpha=0.5, beta=0.5)
graph = helper.make_graph([node], "g", [port("x", x)], [port("y", x)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
try:
    got = run(model, x=x)[0].ravel().tolist()
except Exception as error:  # a class of the extension module
    got = f"{type(error).__name__}: {str(error)[-160:]}"
print("expected", expected)
print("got     ", got)
sys.exit(0 if not isinstance(got, str) and np.allclose(got, expected) else 1)
