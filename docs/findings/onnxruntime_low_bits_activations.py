"""onnxruntime 1.31.1: a product with weights of 4 bits rounds its activations to 8 bits, which no node of the file asks.

Rule: DequantizeLinear 21 and MatMul 13: the weights are rounded, the other factor is a float32 tensor that no
QuantizeLinear touches. The product is fused to MatMulNBits with accuracy_level 4, int8. The session entry
session.qdq_matmulnbits_accuracy_level=0, and basic optimisation, give the sum that is expected.
Upstream: https://github.com/microsoft/onnxruntime/issues/29849 tells what that level costs language models.
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


x = np.full((1, 32), 1 / 1024, np.float32)  # a step of 8 bits of a row that holds 1 is 1/127
x[0, 0] = 1
w = helper.make_tensor("q", TensorProto.INT4, [32, 16], [1] * 512)
scale = numpy_helper.from_array(np.ones((1, 16), np.float32), "s")
nodes = [
    helper.make_node("DequantizeLinear", ["q", "s"], ["w"], axis=0, block_size=32),
    helper.make_node("MatMul", ["x", "w"], ["y"]),
]
ports = [helper.make_tensor_value_info(name, 1, [1, size]) for name, size in (("x", 32), ("y", 16))]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], [w, scale])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
got = float(run(model, x=x)[0][0, 0])
print("expected", 1 + 31 / 1024)
print("got     ", got)
sys.exit(0 if abs(got - (1 + 31 / 1024)) < 1e-5 else 1)
