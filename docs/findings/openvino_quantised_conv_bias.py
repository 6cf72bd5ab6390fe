"""OpenVINO 2026.4.1: a quantised Conv adds the bias of its first channel to every channel, where its shape is used.

The batch is symbolic, and a Shape behind the Conv gives the shape of an Expand, as for the class token of a vision
transformer. With a batch of 1 in the file the same graph is right.
Rule: ONNX Conv 11, input B: "1D bias", "has size of M", one number for each of the M output channels.
Upstream: none known.
Needs: pip install openvino==2026.4.1 onnx numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino

TEXT = """<ir_version: 8, opset_import: ["": 17]> g (float[%s,1,1,1] x) => (float[n,2,1,1] y, float[n,2] token)
<float[2,1,1,1] w = {1.0, 2.0}, float[2] b = {0.5, 1.0}, float step = {0.01}, uint8 zero = {0},
 int64[1] first = {0}, int64[1] end = {1}, int64[1] two = {2}, float[2] class = {1.0, 2.0}>
{
  xq = QuantizeLinear(x, step, zero)
  xd = DequantizeLinear(xq, step, zero)
  c = Conv(xd, w, b)
  cq = QuantizeLinear(c, step, zero)
  y = DequantizeLinear(cq, step, zero)
  shape = Shape(y)
  batch = Slice(shape, first, end)
  wanted = Concat<axis = 0>(batch, two)
  token = Expand(class, wanted)
}"""
expected, wrong = [0.5 + 0.1, 1.0 + 0.2], 0
for size in ("1", "N"):
    model = onnx.parser.parse_model(TEXT % size)
    onnx.checker.check_model(model, full_check=True)
    core = openvino.Core()
    settings = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", settings)
    got = compiled([np.full((1, 1, 1, 1), 0.1, np.float32)])[0].ravel()
    print(f"batch {size}: expected {expected}, got {got.round(4).tolist()}")
    wrong += not np.allclose(got, expected, atol=0.006)
sys.exit(int(wrong > 0))
