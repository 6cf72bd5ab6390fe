"""onnxsim 0.6.5, which onnx2tf 1.29.24 starts, drops an operand of Concat that has no elements, and its size with it.

Rule: ONNX Concat 13: "All input tensors must have the same shape, except for the dimension size of the axis to concatenate
on", whose sizes are added: [1, 0] and [4, 0] along the first axis give [5, 0]. The rewritten graph gives [1, 0].
Upstream: none known.
Needs onnxsim==0.6.5, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import onnxsim
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

x, held = np.zeros((1, 0), np.float32), np.zeros((4, 0), np.float32)
expected = [1 + 4, 0]
graph = helper.make_graph(
    [helper.make_node("Concat", ["x", "held"], ["y"], axis=0)],
    "g",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, expected)],
    [onnx.numpy_helper.from_array(held, "held")],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
simplified, _ = onnxsim.simplify(model)
[y] = ReferenceEvaluator(simplified).run(None, {"x": x})
print("expected", expected)
print("got     ", list(y.shape))
sys.exit(int(list(y.shape) != expected))
