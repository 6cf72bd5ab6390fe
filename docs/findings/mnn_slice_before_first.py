"""MNN 3.6.1: Slice with a start before the first element counts from the end again.

Rule: ONNX Slice 13, for a positive step: 'starts[i] is clamped into the range [0, dims[axes[i]]]'; -5 of 4 elements is
0. It is brought into the range by adding the length, so -5 becomes 3; a length of 0 is divided by, and -1 ends in
SIGFPE.
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


x = np.array([1, 2, 3, 4], np.float32)
y = run("g (float[4] x) => (float[n] y) <int64[1] s = {-5}, int64[1] e = {9}> { y = Slice(x, s, e) }", x=x)
print("expected", x[-5:9].tolist())
print("got     ", y.tolist())
sys.exit(int(y.tolist() != x[-5:9].tolist()))
