"""MNN 3.6.1: BatchNormalization and InstanceNormalization without the attribute epsilon take 1e-10 for 1e-5.

Rule: ONNX BatchNormalization 15 and InstanceNormalization 6: 'epsilon : float (default is 1e-05)'. With the attribute
written out both are right.
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


BATCH = "g (float[1, 2] x) => (float[1, 2] y) <float[2] o = {1, 1}, float[2] z = {0, 0}, float[2] v = {0, 0}>"
INSTANCE = "g (float[1, 1, 2] x) => (float[1, 1, 2] y) <float[1] o = {1}, float[1] z = {0}>"
x = np.array([[-0.001, 0.001]], np.float32)
wrong = 0
for text, values, variance in (
    (BATCH + " { y = BatchNormalization (x, o, z, z, v) }", x, 0.0),
    (INSTANCE + " { y = InstanceNormalization (x, o, z) }", x[None], 1e-6),
):
    expected = values.astype(np.float64) / np.sqrt(variance + 1e-5)
    y = run(text, x=values)
    print("expected", expected.ravel().tolist())
    print("got     ", y.ravel().tolist())
    wrong += not np.allclose(y, expected, rtol=1e-3)
sys.exit(int(wrong > 0))
