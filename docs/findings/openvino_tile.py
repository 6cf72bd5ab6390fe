"""OpenVINO 2026.4.1: Tile whose repeats are an input leaves its output unwritten: what comes out is what the memory held.

Rule: ONNX Tile 13 repeats the input 'repeats' times along each axis, as numpy.tile does.
Nothing is written where the output falls into more than six runs of axes; constant repeats are right. The values change
from call to call, the shape is right. onnx's own case test_tile shows it.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import helper as h

inputs = {"x": np.arange(1, 17, dtype=np.float32).reshape(2, 2, 2, 2), "r": np.array([2, 2, 2, 2], np.int64)}
expected = np.tile(inputs["x"], (2, 2, 2, 2))
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("Tile", ["x", "r"], ["y"])
graph = h.make_graph(
    [node], "g", ports, [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)]
)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel()[:8])
print(
    "got     ",
    y.shape,
    y.ravel()[:8],
    f"{(y != expected).sum()} of {y.size} differ" if y.shape == expected.shape else "",
)
sys.exit(int(y.shape != expected.shape or not np.array_equal(y, expected)))
