"""OpenVINO 2026.4.1 (arguable): LRN with an even size takes another window.

Rule: ONNX LRN 13: square_sum runs over max(0, c - floor((size - 1) / 2)) to min(C - 1, c + ceil((size - 1) / 2)).
With size 2 that is the channel itself and the next one. Arguable, because floor and ceil differ only for even sizes and
several tools refuse those.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import helper as h

inputs = {"x": np.array([1, 2], np.float32).reshape(1, 2, 1, 1)}
expected = inputs["x"] / (1 + 1 / 2 * np.array([5, 4], np.float32).reshape(1, 2, 1, 1)).astype(np.float32)
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("LRN", ["x"], ["y"], size=2, alpha=1.0, beta=1.0, bias=1.0)
graph = h.make_graph(
    [node], "g", ports, [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)]
)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected, rtol=1e-5)))
