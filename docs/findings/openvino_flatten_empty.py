"""OpenVINO 2026.4.1: Flatten of a tensor without elements gives another shape, and memory that nobody wrote.

Rule: ONNX Flatten 13: the shape of the result is (d_0 X d_1 ... d_(axis-1), d_axis X d_(axis+1) ... X dn), here (3, 0).
It becomes a Reshape to (3, 0), in which a 0 stands for the size of the input at that place, here 3.
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


y = run("g (float[1,3,0] x) => (float[3,0] y) { y = Flatten <axis = 2> (x) }", np.zeros((1, 3, 0), np.float32))
print("expected", (3, 0))
print("got     ", y.shape)
sys.exit(int(y.shape != (3, 0)))
