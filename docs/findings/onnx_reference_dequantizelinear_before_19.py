"""onnx 1.23.2, reference evaluator (not supported): DequantizeLinear is missing in the opsets 10 to 18.

Rule: ONNX DequantizeLinear 10 and 13: y = (x - x_zero_point) * x_scale.
The evaluator has the versions 19, 21, 23 and 25 only; of QuantizeLinear it has version 10 too.
Upstream: none known.
The evaluator is what other tools are compared with.
Needs onnx==1.23.2 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator


def run(text, opset, **inputs):
    """What the evaluator gives for a graph in text, or its error."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> ' + text)
    onnx.checker.check_model(model, full_check=True)
    try:
        return np.asarray(ReferenceEvaluator(model).run(None, inputs)[0]).tolist()
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:120]}"


x, scale = np.array([4], np.int8), np.array(0.5, np.float32)
got = {
    opset: run("g (int8[1] x, float s) => (float[1] y) { y = DequantizeLinear(x, s) }", opset, x=x, s=scale)
    for opset in (10, 13, 19)
}
print("expected", dict.fromkeys((10, 13, 19), [2.0]))
print("got     ", got)
sys.exit(int(got != dict.fromkeys((10, 13, 19), [2.0])))
