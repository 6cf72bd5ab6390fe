"""MNN 3.6.1: on x86 QuantizeLinear and DequantizeLinear hold int8 with 128 added, and Cast and outputs do not.

Rule: ONNX QuantizeLinear 13: y = saturate((x / y_scale) + y_zero_point), which for 5, 1 and 0 is 5; DequantizeLinear
13: y = (x - x_zero_point) * x_scale. One behind the other they are right. Without a zero point, for which ONNX has
uint8, QuantizeLinear gives the same int8.
Upstream: none known.
Needs mnn==3.6.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import _tools  # the converter itself: the command mnnconvert installs packages when it starts (mnn_pip.py)
import MNN.expr as expressions
import MNN.nn as nn
import numpy as np
import onnx

os.chdir(tempfile.mkdtemp())


def run(text, **inputs):
    """What MNN gives for a graph in text."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
    module = nn.load_module_from_file("m.mnn", list(inputs), ["y"])
    given = []
    for x in inputs.values():
        given.append(expressions.placeholder(list(x.shape), expressions.NCHW, expressions.float))
        given[-1].write(x)
    found = module.forward(given)
    y = found[0] if isinstance(found, (list, tuple)) else found
    return expressions.convert(y, expressions.NCHW).read()


x = np.array([5, -7], np.float32)
wrong = 0
for body in (
    "q = QuantizeLinear (x, s, z) y = Cast <to=1> (q)",
    "q = Cast <to=3> (x) y = DequantizeLinear (q, s)",
):
    y = run("g (float[2] x) => (float[2] y) <float s = {1.0}, int8 z = {0}> { " + body + " }", x=x)
    print("expected", body, x.tolist())
    print("got     ", body, y.tolist())
    wrong += y.tolist() != x.tolist()
sys.exit(int(wrong > 0))
