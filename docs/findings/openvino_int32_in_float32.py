"""OpenVINO 2026.4.1: Relu, Div and Mod of int32 are computed in float32: 16777217 / 1 is 16777216.

Rule: ONNX Relu 14, Div 14 and Mod 13 take int32; Relu gives x itself where it is not negative, and x / 1 is x.
2147483647 comes as -2147483648. uint32, int64 and uint64 are the same, after a conversion to int32.
Upstream: https://github.com/openvinotoolkit/openvino/issues/35830 (Div, open),
https://github.com/openvinotoolkit/openvino/issues/35829 (Mod of int64, open)
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov

core, wrong = ov.Core(), 0
x, n = np.array([16777217, 2147483647], np.int32), np.array([1, 2147483646], np.int32)
CASES = [("Relu(x)", x), ("Div(x, n)", np.array([16777217, 1])), ("Mod(n, x)", np.array([1, 2147483646]))]
for node, expected in CASES:
    text = f'<ir_version: 8, opset_import: ["": 17]> g (int32[2] x, int32[2] n) => (int32[2] y) {{ y = {node} }}'
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    read = core.read_model(model.SerializeToString())
    compiled = core.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    y = compiled([x, n][: len(compiled.inputs)])[0]
    wrong += y.tolist() != expected.tolist()
    print("expected", node, expected.tolist())
    print("got     ", node, y.tolist())
sys.exit(int(wrong > 0))
