"""MNN 3.6.1: OneHot does not count negative indices from the end.

Rule: ONNX OneHot 11: 'Any entries in the indices input tensor with values outside the range [-depth, depth-1] will
result in one-hot representation with all off_value'; -1 is inside, and is the last.
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


x = np.array([1, -1], np.int32)
text = "<int64 d = {2}, float[2] v = {0, 1}> { y = OneHot <axis=-1> (x, d, v) }"
y = run(f"g (int32[2] x) => (float[2, 2] y) {text}", x=x)
print("expected", [[0.0, 1.0], [0.0, 1.0]])
print("got     ", y.tolist())
sys.exit(int(y.tolist() != [[0, 1], [0, 1]]))
