"""OpenVINO 2026.4.1: Gemm that has no rows to compute gives one row of memory that nobody wrote.

Rule: ONNX Gemm 13: "output tensor Y has shape (M, N)", and with transA = 1 the shape of A is (K, M): M is 0 here.
It happens where a row of one column is transposed and B is a constant, and with a Transpose and a MatMul alike.
A matrix of shape (2, 0) is right.
Upstream: none known.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import numpy_helper


def run(text, *inputs, **constants):
    """What OpenVINO gives for a graph in text."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
    model.graph.initializer.extend(numpy_helper.from_array(x, name) for name, x in constants.items())
    onnx.checker.check_model(model, full_check=True)
    core = ov.Core()
    read = core.read_model(model.SerializeToString())
    return core.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([*inputs])[0]


x, b = np.zeros((1, 0), np.float32), np.ones((1, 3), np.float32)
y = run("g (float[1,0] x) => (float[0,3] y) { y = Gemm <transA = 1> (x, b) }", x, b=b)
print("expected", (0, 3))
print("got     ", y.shape)
sys.exit(int(y.shape != (0, 3)))
