"""MNN 3.6.1: Pad in modes edge and reflect leaves values that nobody wrote where it takes four loops.

Rule: ONNX Pad 13: mode edge 'pads with the edge values of array', and reflect with the reflection of the vector along
each axis. From the first padded dimension on, each padded one takes a loop, and so do unpadded ones between and behind
them; a region of MNN has three (GeometryCrop.cpp). With four the outermost are read at places outside the input: the
first and the third of four dimensions, or all four. The first two, the outer two or the last three are right.
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


x = np.full((2, 2, 2, 2), 7, np.float32)
wrong = 0
for padded in ((1, 1, 0, 0), (1, 0, 0, 1), (0, 1, 1, 1), (1, 0, 1, 0), (1, 1, 1, 1)):
    pads = ", ".join(map(str, padded + padded))
    text = f'<int64[8] p = {{{pads}}}> {{ y = Pad <mode="edge"> (x, p) }}'
    y = run(f"g (float[2, 2, 2, 2] x) => (float[n, c, h, w] y) {text}", x=x)
    off = int((y != 7).sum())
    print(f"expected {y.size} times 7, got {y.size - off} where the padded dimensions are {padded}")
    wrong += off
sys.exit(int(wrong > 0))
