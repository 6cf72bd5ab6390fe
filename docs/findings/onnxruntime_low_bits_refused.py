"""onnxruntime 1.31.1: a product of weights and activations of 2 bits is refused after its own optimisation.

Rule: QuantizeLinear 25, DequantizeLinear 25: int2 is one of the types of y and x; onnx's checker takes the file. The
optimiser makes a MatMulIntegerToFloat of it, whose inputs may not be int2. Basic optimisation runs the file, and the
product is right.
Upstream: none known.
Needs: pip install onnxruntime==1.31.1 onnx numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


def run(model, **inputs):
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


tensors = [
    helper.make_tensor("q", TensorProto.INT2, [4, 4], [1] * 16), helper.make_tensor("z", TensorProto.INT2, [], [0]),
    numpy_helper.from_array(np.float32(1), "s"),
]  # fmt: skip
nodes = [
    helper.make_node("QuantizeLinear", ["x", "s", "z"], ["i"]),
    helper.make_node("DequantizeLinear", ["i", "s", "z"], ["r"]),
    helper.make_node("DequantizeLinear", ["q", "s", "z"], ["w"]),
    helper.make_node("MatMul", ["r", "w"], ["y"]),
]
ports = [helper.make_tensor_value_info(name, 1, [1, 4]) for name in "xy"]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], tensors)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)
try:
    got = float(run(model, x=np.float32([[1, -2, 1, 1]]))[0][0, 0])
except Exception as error:  # a class of the extension module
    got = f"{type(error).__name__}: {str(error)[-200:]}"
print("expected", 1.0)
print("got     ", got)
sys.exit(0 if got == 1.0 else 1)
