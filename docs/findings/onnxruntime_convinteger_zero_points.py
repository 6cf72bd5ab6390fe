"""onnxruntime 1.31.1: ConvInteger refuses zero points of the weights for each output channel.

Rule: ConvInteger 10, input w_zero_point: "It could be a scalar or a 1-D tensor, which means a per-tensor/layer or per
output channel quantization" (onnx's case test_convinteger_with_padding). The kernel says "Non per-tensor quantization
is not supported now".
Upstream: https://github.com/microsoft/onnxruntime/issues/8890 tells the same of QLinearConv.
Needs: pip install onnxruntime==1.31.1 onnx numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper


def run(model, **inputs):
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def port(name, x):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)


x, w = np.full((1, 1, 1, 1), 3, np.uint8), np.full((2, 1, 1, 1), 2, np.uint8)
given = {"x": x, "w": w, "a": np.array(0, np.uint8), "b": np.array([0, 1], np.uint8)}
node = helper.make_node("ConvInteger", list(given), ["y"])
y = helper.make_tensor_value_info("y", TensorProto.INT32, [1, 2, 1, 1])
graph = helper.make_graph([node], "g", [port(name, a) for name, a in given.items()], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 10)], ir_version=8)
try:
    got = run(model, **given)[0].ravel().tolist()
except Exception as error:  # a class of the extension module
    got = f"{type(error).__name__}: {str(error)[-160:]}"
print("expected", [6, 3])
print("got     ", got)
sys.exit(0 if got == [6, 3] else 1)
