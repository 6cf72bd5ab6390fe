"""MNN 3.6.1 (arguable): LRN with an even size sums the channels before, where the specification writes those behind.

Rule: LRN 13: from max(0, c - floor((size - 1) / 2)) to min(C - 1, c + ceil((size - 1) / 2)); with size 2 that is the
channel itself and the next. Arguable, because floor and ceil differ only for even sizes and several tools refuse
those.
Upstream: https://github.com/apache/mxnet/issues/11281 tells the same of MXNet.
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


x = np.array([1, 2], np.float32).reshape(1, 2, 1, 1)
expected = np.array([1, 2]) / (1 + np.array([1 + 4, 4]) / 2)
y = run("g (float[1, 2, 1, 1] x) => (float[1, 2, 1, 1] y) { y = LRN <size=2, alpha=1.0, beta=1.0> (x) }", x=x)
print("expected", expected.tolist())
print("got     ", y.ravel().tolist())
sys.exit(int(not np.allclose(y.ravel(), expected, rtol=1e-5)))
