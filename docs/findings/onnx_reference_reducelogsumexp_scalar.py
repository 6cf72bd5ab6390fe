"""onnx 1.23.2, reference evaluator: ReduceLogSumExp of a scalar raises.

Rule: ONNX ReduceLogSumExp 18: "Input tensors of rank zero are valid." So they are for ReduceSum and ReduceMax, which the evaluator
computes.
The evaluator writes into what numpy.subtract gives, which is no array for a scalar.
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


got = run("g (float x) => (float y) { y = ReduceLogSumExp(x) }", 17, x=np.array(0.5, np.float32))
print("expected", 0.5)
print("got     ", got)
sys.exit(int(got != 0.5))
