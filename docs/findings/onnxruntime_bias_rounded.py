"""onnxruntime 1.31.1: a bias in float32 is rounded unasked behind quantised activations and weights.

Rule: Gemm 13: Y = A B + C. The transformation WeightBiasQuantization makes an int32 of the bias, in steps of the scale of
the activations times that of the weights. With weights of 8 bits these steps are small, with 4 or 2 bits they are not:
here a bias of 0.1 in steps of 0.25 is lost. Without optimisation, or with this transformation among the
disabled_optimizers of the session, the sum is right.
Upstream: https://github.com/microsoft/onnxruntime/pull/22889 introduced it.
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
    helper.make_tensor("q", TensorProto.INT4, [2, 1], [1, 1]), numpy_helper.from_array(np.float32(0.5), "half"),
    numpy_helper.from_array(np.float32(0.1), "tenth"), numpy_helper.from_array(np.float32([0.1]), "bias"),
    numpy_helper.from_array(np.uint8(0), "z"),
]  # fmt: skip
nodes = [
    helper.make_node("QuantizeLinear", ["x", "half", "z"], ["i"]),
    helper.make_node("DequantizeLinear", ["i", "half", "z"], ["r"]),
    helper.make_node("DequantizeLinear", ["q", "half"], ["w"]),
    helper.make_node("Gemm", ["r", "w", "bias"], ["g"]),
    helper.make_node("QuantizeLinear", ["g", "tenth", "z"], ["y"]),
]
ports = [helper.make_tensor_value_info("x", 1, [1, 2]), helper.make_tensor_value_info("y", TensorProto.UINT8, [1, 1])]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], tensors)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
got = int(run(model, x=np.float32([[1, 2]]))[0][0, 0])
print("expected", 16, "steps of 0.1: 1 * 0.5 + 2 * 0.5 + 0.1")
print("got     ", got)
sys.exit(0 if got == 16 else 1)
