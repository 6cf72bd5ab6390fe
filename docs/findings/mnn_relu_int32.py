"""MNN 3.6.1: Relu of int32 takes the bits for float32: integers from 2139095041, whose bits are NaN, give 0.

Rule: ONNX Relu 14 takes int32, and is 'the rectified linear function, y = max(0, x), applied to the tensor
elementwise'. Other integers come out right, for the larger one of a float32 and 0 has the bits of one of the two.
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
        given.append(expressions.placeholder(list(x.shape), expressions.NCHW, expressions.int))
        given[-1].write(x)
    found = module.forward(given)
    y = found[0] if isinstance(found, (list, tuple)) else found
    return expressions.convert(y, expressions.NCHW).read()


x = np.array([-5, 2139095040, 2139095041, 2147483647], np.int32)
y = run("g (int32[4] x) => (int32[4] y) { y = Relu(x) }", x=x)
print("expected", np.maximum(x, 0).tolist())
print("got     ", y.tolist())
sys.exit(int(y.tolist() != np.maximum(x, 0).tolist()))
