"""MNN 3.6.1: MaxPool and GlobalMaxPool begin at -16777216, and never give less.

Rule: ONNX MaxPool 12 'consisting of computing the max on all values of a subset of the input tensor', GlobalMaxPool 1
'applies max pooling across the values in the same channel'; the largest of nothing but -1e9 is -1e9.
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


x = np.full((1, 1, 2, 2), -1e9, np.float32)
wrong = 0
for call in ("MaxPool <kernel_shape=[2, 2], strides=[1, 1]> (x)", "GlobalMaxPool (x)"):
    y = run(f"g (float[1, 1, 2, 2] x) => (float[1, 1, 1, 1] y) {{ y = {call} }}", x=x)
    print("expected", call, -1e9)
    print("got     ", call, y.item())
    wrong += y.item() != -1e9
sys.exit(int(wrong > 0))
