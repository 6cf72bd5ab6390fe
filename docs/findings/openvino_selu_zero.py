"""OpenVINO 2026.4.1: Selu with alpha = 0 or gamma = 0 takes the default.

Rule: ONNX Selu 6: y = gamma * (alpha * e^x - alpha) for x <= 0, y = gamma * x for x > 0.
HardSigmoid with beta = 0 and with alpha = 0 does the same (openvino_hardsigmoid_beta.py). Every other value is right.
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


x = np.array([-1, 1], np.float32)
got = [
    float(run("g (float[2] x) => (float[2] y) { y = Selu <alpha = 0.0> (x) }", x)[0]),
    float(run("g (float[2] x) => (float[2] y) { y = Selu <gamma = 0.0> (x) }", x)[1]),
]
print("expected", [0.0, 0.0])
print("got     ", got)
sys.exit(int(any(got)))
