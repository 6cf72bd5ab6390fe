"""MNN 3.6.1: constants of int64 are limited to 1073741824, half of what int32 holds.

Rule: ONNX Concat 13 takes int64 and gives the same numbers. The converter writes int64 as int32, and limits each
number to 2**30 on the way, though int32 goes up to 2**31 - 1; it says nothing. A constant of int32 is right.
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


x = np.array([7], np.int32)
y = run("g (int64[1] x) => (int64[3] y) <int64[2] c = {2000000000, -2000000000}> { y = Concat <axis=0> (x, c) }", x=x)
print("expected", [7, 2000000000, -2000000000])
print("got     ", y.tolist())
sys.exit(int(y.tolist() != [7, 2000000000, -2000000000]))
