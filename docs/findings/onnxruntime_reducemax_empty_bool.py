"""onnxruntime 1.31.1: ReduceMax of bool over an axis without elements is refused.

Rule: ReduceMax 20: "Reduction over an empty set of values yields minus infinity (if supported by the datatype) or the
minimum value of the data type otherwise", and "False < True" (onnx's case test_reduce_max_empty_set_bool).
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


x, axes = np.zeros((2, 0), bool), np.array([1])
node = helper.make_node("ReduceMax", ["x", "axes"], ["y"], keepdims=0)
graph = helper.make_graph([node], "g", [port("x", x), port("axes", axes)], [port("y", np.zeros(2, bool))])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
try:
    got = run(model, x=x, axes=axes)[0].tolist()
except Exception as error:  # a class of the extension module
    got = f"{type(error).__name__}: {str(error)[-160:]}"
print("expected", [False, False])
print("got     ", got)
sys.exit(0 if got == [False, False] else 1)
