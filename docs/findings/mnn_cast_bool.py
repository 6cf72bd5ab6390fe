"""MNN 3.6.1: Cast of float32 to BOOL cuts the fraction off first: 0.5 is false.

Rule: ONNX Cast 13 has a table of types; for floating point to bool it says '{+/- 0.0} to False; all else to True.'
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


x = np.array([0.5, -0.25, 1, 0], np.float32)
y = run("g (float[4] x) => (bool[4] y) { y = Cast <to=9> (x) }", x=x)
print("expected", [1, 1, 1, 0])
print("got     ", y.tolist())
sys.exit(int(y.tolist() != [1, 1, 1, 0]))
