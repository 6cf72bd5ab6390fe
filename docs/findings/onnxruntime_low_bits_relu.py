"""onnxruntime 1.31.1: Relu in front of QuantizeLinear of 4 bits is left out, and negative numbers stay.

Rule: Relu 14: y = max(0, x). The transformation ReluQuantFusion may leave Relu out where the zero point is the lowest
number of its type, which holds the clamp at 0; with int4 it leaves it out for the zero point 0 as well. Basic
optimisation and int8 are right.
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


tensors = [helper.make_tensor("z", TensorProto.INT4, [], [0]), numpy_helper.from_array(np.float32(1), "s")]
nodes = [
    helper.make_node("Relu", ["x"], ["r"]),
    helper.make_node("QuantizeLinear", ["r", "s", "z"], ["i"]),
    helper.make_node("DequantizeLinear", ["i", "s", "z"], ["y"]),
]
ports = [helper.make_tensor_value_info(name, 1, [2]) for name in "xy"]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], tensors)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
got = run(model, x=np.float32([-3, 5]))[0].tolist()
print("expected", [0.0, 5.0])
print("got     ", got)
sys.exit(0 if got == [0.0, 5.0] else 1)
