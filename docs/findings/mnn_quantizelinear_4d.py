"""MNN 3.6.1: QuantizeLinear and DequantizeLinear of four dimensions swap the first two.

Rule: ONNX QuantizeLinear 21: y = saturate(round(x / y_scale) + y_zero_point), element by element, in the shape of x; and
DequantizeLinear back. A convolution behind them gets another number of channels and has no shape.
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

TEXT = """<ir_version: 8, opset_import: ["": 17]> g (float[1,3,1,1] x) => (float[1,3,1,1] y)
<float s = {0.5}, int8 z = {0}> { q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }"""
expected = np.array([1, 2, 3], np.float32).reshape(1, 3, 1, 1)
onnx.save(onnx.parser.parse_model(TEXT), "m.onnx")
_tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
module = nn.load_module_from_file("m.mnn", ["x"], ["y"])
x = expressions.placeholder([1, 3, 1, 1], expressions.NCHW, expressions.float)
x.write(expected)
found = module.forward([x])
y = found[0] if isinstance(found, (list, tuple)) else found
y = expressions.convert(y, expressions.NCHW).read()
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
