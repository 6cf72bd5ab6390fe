"""OpenVINO 2026.4.1: LSTM ignores its peepholes.

Rule: ONNX LSTM 14: P is the eighth input; it = f(Xt*(Wi^T) + Ht-1*(Ri^T) + Pi (.) Ct-1 + Wbi + Rbi).
The result is that of P = 0. One unit, all weights 1, an initial state of 1.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import helper as h

inputs = {"x": np.array([[[1]]], np.float32), "c": np.array([[[1]]], np.float32)}
expected = np.array(
    [
        [
            [
                [
                    1
                    / (1 + np.exp(-1 - 1 / (1 + np.exp(-2)) * (1 + np.tanh(1))))
                    * np.tanh(1 / (1 + np.exp(-2)) * (1 + np.tanh(1)))
                ]
            ]
        ]
    ],
    np.float32,
)
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
w = onnx.numpy_helper.from_array(np.ones((1, 4, 1), np.float32), "w")
r = onnx.numpy_helper.from_array(np.ones((1, 4, 1), np.float32), "r")
p = onnx.numpy_helper.from_array(np.ones((1, 3), np.float32), "p")
node = h.make_node("LSTM", ["x", "w", "r", "", "", "", "c", "p"], ["y"], hidden_size=1)
graph = h.make_graph(
    [node],
    "g",
    ports,
    [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)],
    [w, r, p],
)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 14)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected, rtol=1e-5)))
