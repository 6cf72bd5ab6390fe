"""MNN 3.6.1 (arguable): Tanh loses the digits of small results; of 1e-8 it gives 0.

Rule: none states a bound; ONNX Tanh 13 'Calculates the hyperbolic tangent', and this project wants 5 ULP
(docs/operators.md). It is computed as (1 - exp(-2x)) / (1 + exp(-2x)), which subtracts nearly equal numbers.
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


x = np.array([0.0679653137922287, 0.001, 1e-8], np.float32)
expected = np.tanh(x.astype(np.float64))
y = run("g (float[3] x) => (float[3] y) { y = Tanh(x) }", x=x)
print("expected", expected.tolist())
print("got     ", y.tolist())
sys.exit(int(not np.allclose(y, expected, rtol=3e-7, atol=0)))
