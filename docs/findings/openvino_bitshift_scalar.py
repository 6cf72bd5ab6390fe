"""OpenVINO 2026.4.1: BitShift of two scalars gives a tensor of shape [1].

Rule: ONNX BitShift 11 "performs element-wise operation", with multidirectional broadcasting: the shape of the result of two
scalars is ().
Both directions do it. The value is right.
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


y = run("g (uint8 x, uint8 n) => (uint8 y) { y = BitShift <direction = \"LEFT\"> (x, n) }", np.uint8(2), np.uint8(1))
print("expected", (), 4)
print("got     ", y.shape, y.tolist())
sys.exit(int(y.shape != ()))
