"""MNN 3.6.1: MatMul of more than two dimensions by a constant vector gives no output, or another shape.

Rule: ONNX MatMul 13 'behaves like numpy.matmul'; [2, 3, 4] by [4] has the shape [2, 3]. The converter appends a
dimension to the vector, and takes dimension 1 of the result away for it instead of the last. A vector that is an input
is right.
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


wrong = 0
for shape in ([2, 3, 4], [2, 1, 3, 4]):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    expected = x @ np.ones(4, np.float32)
    graph = f"g (float{shape} x) => (float{list(expected.shape)} y)"
    try:
        y = run(f"{graph} <float[4] c = {{1, 1, 1, 1}}> {{ y = MatMul (x, c) }}", x=x)
    except (IndexError, TypeError):  # a list of no outputs; what is wrong was printed before
        y = np.zeros(0)
    print("expected", expected.shape, expected.ravel().tolist())
    print("got     ", y.shape, y.ravel().tolist())
    wrong += y.shape != expected.shape
sys.exit(int(wrong > 0))
