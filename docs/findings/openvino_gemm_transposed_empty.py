"""OpenVINO 2026.4.1: Gemm of a transposed matrix without elements is refused: "object is not initialized".

Rule: ONNX Gemm 13: Y = alpha * A' * B' + beta * C; with an inner dimension of 0 a sum over nothing is 0.
The same product without transB is right. A transposed A that has no rows then, as (1, 0), is refused too.
Upstream: none known.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov


def run(text, *inputs):
    """What OpenVINO gives for a graph in text."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
    onnx.checker.check_model(model, full_check=True)
    core = ov.Core()
    read = core.read_model(model.SerializeToString())
    return core.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([*inputs])[0]


a, b = np.zeros((1, 0), np.float32), np.zeros((2, 0), np.float32)
print("expected", [[0.0, 0.0]])
try:
    got = run("g (float[1,0] a, float[2,0] b) => (float[1,2] y) { y = Gemm <transB = 1> (a, b) }", a, b)
except RuntimeError as error:
    print("got      an error:", str(error).strip().splitlines()[-1].strip()[:140])
    sys.exit(1)
print("got     ", got.tolist())
sys.exit(int(got.tolist() != [[0.0, 0.0]]))
