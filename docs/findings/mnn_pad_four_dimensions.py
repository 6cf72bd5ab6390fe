"""MNN 3.6.1: Pad in modes edge and reflect leaves values that nobody wrote where it pads four dimensions.

Rule: ONNX Pad 13: mode edge 'pads with the edge values of array', and reflect with the reflection of the vector along
each axis. Of four dimensions that are all padded the first is read at places outside the input (GeometryCrop.cpp); of
three, padding is right.
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


x = np.full((1, 1, 1, 1), 7, np.float32)
wrong = 0
for dimensions in (3, 4):
    pads = ", ".join(["0"] * (4 - dimensions) + ["1"] * dimensions + ["0"] * 4)
    text = f'<int64[8] p = {{{pads}}}> {{ y = Pad <mode="edge"> (x, p) }}'
    y = run(f"g (float[1, 1, 1, 1] x) => (float[n, c, h, w] y) {text}", x=x)
    print(f"expected of {dimensions} dimensions", [7.0] * 2**dimensions)
    print(f"got      of {dimensions} dimensions", y.ravel().tolist())
    wrong += not np.array_equal(y.ravel(), [7.0] * 2**dimensions)
sys.exit(int(wrong > 0))
