"""onnxruntime 1.31.1 (not supported): RandomUniformLike and RoiAlign have kernels up to opset 21 only.

Rule: ONNX RandomUniformLike 22 and RoiAlign 22, which added bfloat16 and changed nothing else. The float32 nodes that
opset 21 runs are refused with opset 22. The function body of Bernoulli 22 has a RandomUniformLike, and so Bernoulli is
refused too.
Needs onnxruntime==1.31.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import onnx
import onnxruntime
from onnx import parser

TEXTS = {
    "RandomUniformLike": "(float[2] x) => (float[2] y) { y = RandomUniformLike(x) }",
    "Bernoulli": "(float[2] x) => (float[2] y) { y = Bernoulli(x) }",
    "RoiAlign": "(float[1,1,2,2] x, float[1,4] r, int64[1] b) => (float[1,1,1,1] y) { y = RoiAlign(x, r, b) }",
}

onnxruntime.set_default_logger_severity(4)
refused = []
for operator, text in TEXTS.items():
    for opset in (21, 22):
        model = parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]> g {text}')
        onnx.checker.check_model(model, full_check=True)
        try:
            onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            said = "a session"
        except Exception as error:  # a class of the extension module
            said = str(error).splitlines()[0]
            refused.append(operator)
        print(f"expected  {operator} {opset}: a session")
        print(f"got       {operator} {opset}:", said)
sys.exit(int(bool(refused)))
