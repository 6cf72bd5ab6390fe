"""onnx 1.23.2, reference evaluator: MaxPool takes pads in another order, and does not pad one or three dimensions.

Rule: ONNX MaxPool 12, pads: "`pads` format should be as follow [x1_begin, x2_begin...x1_end, x2_end,...]".
Where strides and dilations are 1, four numbers are read as x1_begin, x1_end, x2_begin, x2_end; of two or six numbers none is
used to pad: the result is too small, or the evaluator raises an IndexError.
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


x, row = np.array([[[[1, 2], [3, 4]]]], np.float32), np.array([[[1, 2]]], np.float32)
TEXT = "g (float[%s] x) => (float[%s] y) { y = MaxPool <kernel_shape = [%s], pads = [%s]> (x) }"
expected = [[[[[3.0, 4.0, 4.0]]]], [[[2.0, 2.0]]]]
got = [
    run(TEXT % ("1,1,2,2", "1,1,1,3", "2, 2", "0, 1, 0, 1"), 17, x=x),
    run(TEXT % ("1,1,2", "1,1,2", "2", "0, 1"), 17, x=row),
]
print("expected", expected)
print("got     ", got)
sys.exit(int(got != expected))
