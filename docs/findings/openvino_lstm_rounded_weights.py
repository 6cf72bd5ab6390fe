"""OpenVINO 2026.4.1: an LSTM whose weights are constants that are quantised and dequantised in the graph is refused.

Rule: LSTM 7 to 22: W is an input; QuantizeLinear and DequantizeLinear of a constant are a constant once they are folded.
The pair becomes a FakeQuantize, which stays computed, and LSTMSequence takes constants alone. With integers stored and a
DequantizeLinear alone the same LSTM compiles.
Upstream: none known.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import numpy_helper, parser

model = parser.parse_model("""
<ir_version: 8, opset_import: ["": 13]> g (float[3,1,2] x) => (float[3,1,1,4] y) <float s = {0.1}, int8 z = {0}> {
    q = QuantizeLinear(held, s, z)
    w = DequantizeLinear(q, s, z)
    y, h, c = LSTM<hidden_size = 4>(x, w, r)
}
""")
draw = np.random.default_rng(0)
for name, size in (("held", (1, 16, 2)), ("r", (1, 16, 4))):
    model.graph.initializer.append(numpy_helper.from_array(draw.normal(size=size).astype(np.float32), name))
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
try:
    compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
    got = str(compiled(np.ones((3, 1, 2), np.float32))[0].shape)
except RuntimeError as error:
    got = " ".join(str(error).split())[-120:]
print("expected", "(3, 1, 1, 4)")
print("got     ", got)
sys.exit(int(got != "(3, 1, 1, 4)"))
