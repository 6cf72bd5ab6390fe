"""onnx 1.23.2, reference evaluator (arguable): Cast of NaN to float4e2m1 gives -0.

Rule: ONNX's page "Float stored in 4 bits", section Cast: "NaN | 6". The evaluator, and with it six of onnx's own cases
such as test_cast_FLOAT_to_FLOAT4E2M1, take what the library ml_dtypes gives. Arguable, because the format has no NaN
and the text of Cast does not name the number. OpenVINO gives 6.
Upstream: none known.
Needs onnx==1.23.2 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
from onnx import parser
from onnx.reference import ReferenceEvaluator

model = parser.parse_model("""
<ir_version: 11, opset_import: ["": 23]> g (float[2] x) => (float[2] y) {
    q = Cast<to = 23>(x)
    y = Cast<to = 1>(q)
}
""")
onnx.checker.check_model(model, full_check=True)
y = ReferenceEvaluator(model).run(None, {"x": np.array([np.nan, np.inf], np.float32)})[0]
print("expected", [6.0, 6.0])
print("got     ", y.tolist())
sys.exit(int(y.tolist() != [6, 6]))
