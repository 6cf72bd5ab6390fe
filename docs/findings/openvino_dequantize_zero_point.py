"""OpenVINO 2026.4.1: DequantizeLinear of the zero point is not 0: 33 with zero point 33 and scale 0.02 is 1.9e-8.

Rule: ONNX DequantizeLinear 13: "The dequantization formula is y = (x - x_zero_point) * x_scale", and 33 - 33 is 0.
Where both are constants, it computes x * scale - zero_point * scale: the second product is rounded, the first one is
not. Where one of them is an input of the graph the result is right, and where zero_point * scale is exact too.
Upstream: none known.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov

model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
g (uint8[256] x) => (float[256] y) <float s = {0.02}, uint8 z = {33}> { y = DequantizeLinear(x, s, z) }""")
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
read = core.read_model(model.SerializeToString())
y = core.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([np.arange(256, dtype=np.uint8)])[0]
print("expected", 0.0)
print("got     ", float(y[33]))
sys.exit(int(y[33] != 0))
