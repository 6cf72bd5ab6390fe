"""OpenVINO 2026.4.1: the CPU computes int64 in int32: 4294967297 comes out of Transpose as 1.

Rule: ONNX Transpose 13 takes tensor(int64), and moves elements. Identity, Unsqueeze and Add do the same.
The type of the output is int64 as declared, and nothing is said of the bits that are lost.
Upstream: https://github.com/openvinotoolkit/openvino/issues/35890 is about Sign, Abs and Neg (open).
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


x = np.array([4294967297, 3])
got = run("g (int64[2] x) => (int64[2] y) { y = Transpose(x) }", x)
print("expected", x.tolist())
print("got     ", got.tolist())
sys.exit(int(got.tolist() != x.tolist()))
