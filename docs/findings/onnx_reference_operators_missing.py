"""onnx 1.23.2, reference evaluator (not supported): it has no implementation of Gradient and of Scatter.

Rule: ONNX's operator list: ai.onnx.preview.training's Gradient 1 and Scatter 9. Scatter is deprecated since opset 11,
in which ScatterElements took its place, but it is an operator of opsets 9 and 10. Each is one of onnx's own cases.
Needs onnx==1.23.2 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys

import onnx
from onnx import parser
from onnx.reference import ReferenceEvaluator

path = os.path.join(os.path.dirname(onnx.__file__), "backend/test/data/simple/test_gradient_of_add/model.onnx")
scatter = parser.parse_model("""
<ir_version: 5, opset_import: ["": 10]> g (float[3] x, int64[1] i, float[1] u) => (float[3] y) {
    y = Scatter<axis = 0>(x, i, u)
}
""")
refused = 0
for operator, model in (("Gradient", onnx.load(path)), ("Scatter", scatter)):
    try:
        ReferenceEvaluator(model)
    except Exception as error:  # RuntimeImplementationError is not public
        refused += 1
        print(f"expected  {operator}: an evaluator")
        print(f"got       {operator}: {type(error).__name__}:", str(error).split(", schema")[0].splitlines()[0][:120])
sys.exit(int(refused > 0))
