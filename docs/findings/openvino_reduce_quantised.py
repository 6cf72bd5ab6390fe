"""OpenVINO 2026.4.1: ReduceSum and ReduceMean over axis 1 of a quantised [N, C, W] are 0 for all samples but the first.

Rule: ONNX ReduceSum 13: the sum of the elements along axes, here of what DequantizeLinear gives. Behind a QuantizeLinear and
a DequantizeLinear the CPU plugin reduces the integers themselves, and only those of the first sample: the results of the
others are 0. Without the two, with a batch of 1, over another axis, with four dimensions, and with ReduceMax it is right.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

QUANTISED = "q = QuantizeLinear(x, scale, zero) d = DequantizeLinear(q, scale, zero)"
x = np.arange(1, 19, dtype=np.float32).reshape(3, 2, 3)  # multiples of the scale, which quantisation does not change
wrong = False
for operator, expected in (("ReduceSum", x.sum(1)), ("ReduceMean", x.mean(1))):
    for nodes in (QUANTISED, "d = Identity(x)"):
        text = f"""<ir_version: 8, opset_import: ["": 18]> g (float[3,2,3] x) => (float[3,3] y)
            <float scale = {{1.0}}, uint8 zero = {{0}}, int64[1] axes = {{1}}> {{ {nodes} y = {operator}<keepdims=0>(d, axes) }}"""
        model = parser.parse_model(text)
        onnx.checker.check_model(model, full_check=True)
        core = ov.Core()
        got = core.compile_model(core.read_model(model.SerializeToString()), "CPU")(x)[0]
        wrong |= not np.array_equal(got, expected)
        print(f"{operator}, {'quantised' if nodes == QUANTISED else 'not quantised'}:")
        print(f"expected {expected.tolist()}\ngot      {got.tolist()}")
sys.exit(int(wrong))
