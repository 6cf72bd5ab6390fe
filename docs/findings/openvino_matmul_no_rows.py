"""OpenVINO 2026.4.1: MatMul with a constant without rows is refused while compiling.

Rule: ONNX MatMul 13 'behaves like numpy.matmul': a sum over nothing is 0. Gemm fails the same.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import helper as h

inputs = {"x": np.zeros((1, 0), np.float32)}
expected = np.array([[0]], np.float32)
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
w = onnx.numpy_helper.from_array(np.zeros((0, 1), np.float32), "w")
node = h.make_node("MatMul", ["x", "w"], ["y"])
graph = h.make_graph(
    [node], "g", ports, [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)], [w]
)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
print("expected", expected.shape, expected.ravel().tolist())
try:
    y = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(
        inputs
    )[0]
except RuntimeError as error:
    print("got      RuntimeError:", str(error).strip().splitlines()[-1].strip()[:160])
    sys.exit(1)
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
