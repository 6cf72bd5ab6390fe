"""onnxruntime 1.31.1: with session.x64quantprecision=1 int8 weights without zero points do not run.

Rule: DequantizeLinear 21: x_zero_point is optional, "0 when it's not specified"; its shape is that of x_scale. The switch
makes uint8 of int8 weights if some of them are large, so that products with uint8 do not saturate. It gives them a zero
point of 128, and only one whatever the shape of the scales is. Without the switch, or with zero points in the file, the
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
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


tensors = [
    helper.make_tensor("q", TensorProto.INT8, [2, 2], [100, 2, 3, 4]),
    numpy_helper.from_array(np.float32([1, 10]), "s"),  # of the two columns
]
nodes = [
    helper.make_node("DequantizeLinear", ["q", "s"], ["w"], axis=1),
    helper.make_node("MatMul", ["x", "w"], ["y"]),
]
ports = [helper.make_tensor_value_info(name, 1, [1, 2]) for name in "xy"]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], tensors)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
try:
    got = run(model, x=np.float32([[1, 1]]))[0].ravel().tolist()
except Exception as error:  # a class of the extension module
    got = f"{type(error).__name__}: {str(error).strip()[-200:]}"
print("expected", [103.0, 60.0])
print("got     ", got)
sys.exit(0 if got == [103.0, 60.0] else 1)
