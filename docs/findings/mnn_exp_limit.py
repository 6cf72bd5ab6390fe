"""MNN 3.6.1: Exp takes no argument above 87: exp(88) is exp(87), and Inf never comes.

Rule: ONNX Exp 13 'Calculates the exponential of the given input tensor, element-wise'; exp(88) is 1.65e38, a float32,
and exp(100) is beyond float32, so Inf. Below it is the same: of -100, which is 3.8e-44, comes exp(-87), 1.6e-38.
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


x = np.array([88, 100], np.float32)
expected = np.array([1.6516363e38, np.inf], np.float32)
y = run("g (float[2] x) => (float[2] y) { y = Exp(x) }", x=x)
print("expected", expected.tolist())
print("got     ", y.tolist())
sys.exit(int(not np.allclose(y, expected, rtol=1e-5)))
