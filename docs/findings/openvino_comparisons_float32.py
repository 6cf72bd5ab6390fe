"""OpenVINO 2026.4.1: comparisons of integers of 32 and 64 bits are computed in float32: 16777217 equals 16777216.

Rule: ONNX Equal, Less and Greater 13, constraint T: int32 and int64 are compared as they are. Integers of 8 and 16 bits
are right. Those of 64 bits are converted to int32 before (openvino_unsigned_comparisons.py).
Upstream: https://github.com/openvinotoolkit/openvino/issues/35830 tells of Div in float32 (open).
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov

core, wrong = ov.Core(), 0
a, b = [16777217, 16777216, 5], [16777216, 16777217, 5]
RULES = {
    "Equal": np.equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
}
for kind in ("int32", "int64"):
    given = [np.array(one, kind) for one in (a, b)]
    for name, rule in RULES.items():
        graph = f"g ({kind}[3] a, {kind}[3] b) => (bool[3] y) {{ y = {name}(a, b) }}"
        model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + graph)
        onnx.checker.check_model(model, full_check=True)
        read = core.read_model(model.SerializeToString())
        y = core.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(given)[0]
        print("expected", name, kind, rule(*given).tolist())
        print("got     ", name, kind, y.tolist())
        wrong += y.tolist() != rule(*given).tolist()
sys.exit(int(wrong > 0))
