"""onnx 1.23.2, reference evaluator: Mean adds into a copy of its first operand, so [1, 2] and [2, 1] raise.

Rule: ONNX Mean 13: 'element-wise mean of each of the input tensors (with Numpy-style broadcasting support)'.
The evaluator is what other tools are compared with.
Needs onnx==1.23.2 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
from onnx import TensorProto
from onnx import helper as h
from onnx.reference import ReferenceEvaluator

inputs = {"a": np.array([[1, 2]], np.float32), "b": np.array([[3], [4]], np.float32)}
expected = np.array([[2, 2.5], [2.5, 3]], np.float32)
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("Mean", ["a", "b"], ["y"])
graph = h.make_graph([node], "g", ports, [h.make_tensor_value_info("y", TensorProto.FLOAT, None)])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
print("expected", expected.shape, expected.ravel().tolist())
try:
    y = np.asarray(ReferenceEvaluator(model).run(None, inputs)[0])
except Exception as error:
    print("got     ", type(error).__name__, str(error)[:120])
    sys.exit(1)
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
