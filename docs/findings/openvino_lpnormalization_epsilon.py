"""OpenVINO 2026.4.1: LpNormalization adds 1.2e-7 to the sum, so that small vectors do not get the norm 1.

Rule: ONNX LpNormalization 1: "output = input / Lp_norm(input, axis)". Only a norm of zero is defined otherwise, as 0.
With p = 2 the number is added below the root, with p = 1 to the sum: 0.001 becomes 0.945.
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


x = np.array([0.001], np.float32)
got = [run(f"g (float[1] x) => (float[1] y) {{ y = LpNormalization <p = {p}> (x) }}", x).tolist() for p in (1, 2)]
print("expected", [[1.0], [1.0]])
print("got     ", got)
sys.exit(int(not np.allclose(got, 1, rtol=1e-6)))
