"""OpenVINO 2026.4.1: TopK does not give equal values in the order of their indices.

Rule: ONNX TopK 24: 'given two equivalent values, this operator uses the indices along the axis as a tiebreaker. That is, the
element with the lower index will appear first.'
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import helper as h

inputs = {"x": np.array([[0] * 4, [1] * 4, [2, 2, 1, 1]], np.int64), "k": np.array([3], np.int64)}
expected = np.array([[0, 1, 2]] * 3, np.int64)
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("TopK", ["x", "k"], ["values", "y"], axis=1)
graph = h.make_graph(
    [node], "g", ports, [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)]
)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 24)], ir_version=10)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.array_equal(y, expected)))
