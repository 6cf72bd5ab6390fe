"""onnx 1.23.2, reference evaluator: Optional of a sequence gives a sequence with the sequence in it.

Rule: ONNX Optional 15: "Constructs an optional-type value containing either an empty optional of a certain type
specified by the attribute, or a non-empty value containing the input element." The value of the output is the input.
The evaluator makes a list of one of whatever it gets. test_if_opt of onnx.
Needs onnx==1.23.2 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
from onnx import parser
from onnx.reference import ReferenceEvaluator

model = parser.parse_model("""
<ir_version: 8, opset_import: ["": 16]> g (float[2] x) => (optional(seq(float[2])) y) {
    s = SequenceConstruct(x)
    y = Optional(s)
}
""")
x = np.array([1, 2], np.float32)
y = ReferenceEvaluator(model).run(None, {"x": x})[0]
print("expected", [x])
print("got     ", y)
sys.exit(int(not isinstance(y[0], np.ndarray)))
