"""MNN 3.6.1: MatMul of a batch of matrices without rows by a constant gives no output (Reshape error).

Rule: ONNX MatMul 13 'behaves like numpy.matmul'; [4, 0, 3] by [3, 2] has the shape [4, 0, 2]. As an input the second
matrix is right, and so is a single matrix without rows.
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


x = np.zeros((4, 0, 3), np.float32)
text = "<float[3, 2] c = {1, 2, 3, 4, 5, 6}> { p = MatMul (x, c) y = Shape (p) }"
try:
    y = run(f"g (float[4, 0, 3] x) => (int64[3] y) {text}", x=x).tolist()
except IndexError:  # a list of no outputs; what is wrong was printed before
    y = "no output"
print("expected", [4, 0, 2])
print("got     ", y)
sys.exit(int(y != [4, 0, 2]))
