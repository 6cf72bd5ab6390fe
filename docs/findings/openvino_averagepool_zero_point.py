"""OpenVINO 2026.4.1 (arguable): AveragePool of quantised values pads with the integer 0 in place of the zero point.

Rule: ONNX AveragePool 11, count_include_pad: "Whether include pad pixels when calculating values for the edges."
Arguable, because no sentence says what a pad pixel is. It is 0 in onnx's reference evaluator, in onnx's case
test_averagepool_2d_precomputed_pads_count_include_pad, and in OpenVINO itself without quantisation. The integer 0 stands
for (0 - 128) x 0.25 = -32 here, which is counted with the ones.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import openvino as ov
from onnx import parser

model = parser.parse_model("""<ir_version: 8, opset_import: ["": 13]> g (float[1,1,4,4] x) => (float[1,1,4,4] y)
<float s = {0.25}, uint8 z = {128}> {
    a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z)
    c = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1>(b)
    d = QuantizeLinear(c, s, z) y = DequantizeLinear(d, s, z)
}""")
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
found = compiled({"x": np.ones((1, 1, 4, 4), np.float32)})[0][0, 0, 0, :2].tolist()
print("expected [0.5, 0.75] in the corner and beside it: 4 and 6 ones of 9, in steps of 0.25")
print("got     ", found)
sys.exit(int(found != [0.5, 0.75]))
