"""OpenVINO 2026.4.1: ReverseSequence of int32 and int64 goes through float32: 16777217 comes as 16777216.

Rule: ONNX ReverseSequence 10 takes all tensor types; it moves elements, and computes nothing with them.
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


x, lengths = np.array([[16777217]]), np.array([1])
got = [
    run(f"g ({kind}[1,1] x, int64[1] n) => ({kind}[1,1] y) {{ y = ReverseSequence(x, n) }}", x.astype(kind), lengths)
    for kind in ("int32", "int64")
]
print("expected", [16777217, 16777217])
print("got     ", [int(y[0, 0]) for y in got])
sys.exit(int(any(y[0, 0] != 16777217 for y in got)))
