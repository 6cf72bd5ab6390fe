"""onnxruntime 1.31.1: Softmax between DequantizeLinear and QuantizeLinear is up to 1.5 steps off once it is fused.

Rule: QuantizeLinear 13: y = saturate(round(x / y_scale) + y_zero_point). QLinearSoftmax, which the fusion makes,
multiplies with floor(1 / y_scale) instead, so that 1 / 200.9 counts as 1 / 200 (qlinear_softmax.cc: c_y_scale).
Upstream: https://github.com/microsoft/onnxruntime/issues/32132 tells the same of other operators that are fused so.
Needs: pip install onnxruntime==1.31.1 onnx numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

x = np.array([[220, 128, 128, 128]], np.uint8)
y_scale = np.float32(1 / 200.9)
nodes = [
    helper.make_node("DequantizeLinear", ["x", "x_scale", "x_zero"], ["float"]),
    helper.make_node("Softmax", ["float"], ["soft"], axis=-1),
    helper.make_node("QuantizeLinear", ["soft", "y_scale", "y_zero"], ["y"]),
]
values = {"x_scale": (1, 0.05), "x_zero": (2, 128), "y_scale": (1, y_scale), "y_zero": (2, 0)}
constants = [helper.make_tensor(name, kind, [], [value]) for name, (kind, value) in values.items()]
ports = [[helper.make_tensor_value_info(name, TensorProto.UINT8, [1, 4])] for name in "xy"]
graph = helper.make_graph(nodes, "g", *ports, constants)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
got = session.run(None, {"x": x})[0]
soft = np.exp((x.astype(float) - 128) * 0.05)
unrounded = soft / soft.sum() / float(y_scale)
print("expected", np.rint(unrounded).astype(int).tolist(), "from", unrounded.round(3).tolist())
print("got     ", got.tolist())
sys.exit(0 if (abs(got - unrounded) <= 0.51).all() else 1)
