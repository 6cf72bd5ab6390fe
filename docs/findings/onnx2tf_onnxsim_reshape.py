"""onnxsim 0.6.5, which onnx2tf 1.29.24 starts, drops a Reshape in front of one that copies sizes of its result.

Rule: ONNX Reshape 14: a 0 in shape means that the size is copied from the input, here from the first one's result.
So it takes the groups out of GroupNormalization written out: each channel is normalised for itself.
Upstream: https://github.com/onnxsim/onnxsim/pull/1030 (later it joins two Reshapes only where the second has no 0)
Needs onnxsim==0.6.5, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import onnxsim
from onnx import helper as h
from onnx.reference import ReferenceEvaluator

x = np.arange(8, dtype=np.float32).reshape(1, 4, 2)
expected = x.reshape(1, 2, 4)
constants = [
    onnx.numpy_helper.from_array(np.array([1, 2, 2, 2], np.int64), "groups"),
    onnx.numpy_helper.from_array(np.array([0, 0, -1], np.int64), "flat"),
]
nodes = [h.make_node("Reshape", ["x", "groups"], ["g"]), h.make_node("Reshape", ["g", "flat"], ["y"])]
ports = [h.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)]
outputs = [h.make_tensor_value_info("y", onnx.TensorProto.FLOAT, expected.shape)]
graph = h.make_graph(nodes, "g", ports, outputs, constants)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
simplified, _ = onnxsim.simplify(model)
[y] = ReferenceEvaluator(simplified).run(None, {"x": x})
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.array_equal(y, expected)))
