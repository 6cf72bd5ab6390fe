"""onnxruntime 1.31.1: Clip between an operator and QuantizeLinear of 4 bits is refused.

Rule: QuantizeLinear 21: int4 is one of the types of y. The transformation ClipQuantFusion, which leaves a Clip out that
the integers clamp anyway, does not know the limits of int4 and ends the session. A Clip of an input of the graph is
taken, and without optimisation both are.
Upstream: https://github.com/microsoft/onnxruntime/pull/10434 introduced it, before there was int4.
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
    helper.make_tensor("z", TensorProto.INT4, [], [0]), numpy_helper.from_array(np.float32(1), "s"),
    numpy_helper.from_array(np.float32(0), "low"), numpy_helper.from_array(np.float32(6), "high"),
]  # fmt: skip
nodes = [
    helper.make_node("Neg", ["x"], ["n"]),
    helper.make_node("Clip", ["n", "low", "high"], ["c"]),
    helper.make_node("QuantizeLinear", ["c", "s", "z"], ["i"]),
    helper.make_node("DequantizeLinear", ["i", "s", "z"], ["y"]),
]
ports = [helper.make_tensor_value_info(name, 1, [3]) for name in "xy"]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], tensors)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
try:
    got = run(model, x=np.float32([3, -5, -9]))[0].tolist()
except Exception as error:  # a class of the extension module
    got = f"{type(error).__name__}: {str(error).strip()[-120:]}"
print("expected", [0.0, 5.0, 6.0])
print("got     ", got)
sys.exit(0 if got == [0.0, 5.0, 6.0] else 1)
