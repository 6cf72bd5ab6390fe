"""OpenVINO 2026.4.1: NonMaxSuppression drops a box whose overlap equals the threshold.

Rule: ONNX NonMaxSuppression 11: 'boxes with IOU exactly equal to the threshold are kept'.
The boxes have the areas 2 and 1 and share 1, so their overlap is 1 / 2, which float32 holds exactly, as the threshold is.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import helper as h

inputs = {"b": np.array([[[0, 0, 1, 2], [0, 0, 1, 1]]], np.float32), "s": np.array([[[0.9, 0.8]]], np.float32)}
expected = np.array([[0, 0, 0], [0, 0, 1]], np.int64)
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
n = onnx.numpy_helper.from_array(np.array([3], np.int64), "n")
t = onnx.numpy_helper.from_array(np.array([0.5], np.float32), "t")
node = h.make_node("NonMaxSuppression", ["b", "s", "n", "t"], ["y"])
graph = h.make_graph(
    [node], "g", ports, [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), [None, 3])], [n, t]
)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 11)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.array_equal(y, expected)))
