"""OpenVINO 2026.4.1: GatherElements with fewer indices than data along another axis is refused.

Rule: ONNX GatherElements 13: "Its output shape is the same as the shape of `indices`", and out[i][j] =
input[index[i][j]][j] for axis = 0. Only the ranks have to be equal.
Message: "`data` and `indices` must have equal or intersecting dimensions, except for the dimension at axis".
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


x, at = np.array([[1, 2], [3, 4]], np.float32), np.array([[1]])
print("expected", [[3.0]])
try:
    got = run("g (float[2,2] x, int64[1,1] at) => (float[1,1] y) { y = GatherElements <axis = 0> (x, at) }", x, at)
except RuntimeError as error:
    print("got      an error:", str(error)[str(error).find("Shapes [") :].splitlines()[0][:140])
    sys.exit(1)
print("got     ", got.tolist())
sys.exit(int(got.tolist() != [[3.0]]))
