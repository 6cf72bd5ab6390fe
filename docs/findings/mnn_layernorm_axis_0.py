"""MNN 3.6.1: LayerNormalization with axis 0 gives zeros.

Rule: ONNX LayerNormalization 17, axis: 'The first normalization dimension. If rank(X) is r, axis' allowed range is
[-r, r).' The converter asks whether the axis is above 0 where it means not negative, and normalises over no axes. -1
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


x = np.array([-1, 1], np.float32)
wrong = 0
for axis in (-1, 0):
    text = f"<float[2] o = {{1, 1}}> {{ y = LayerNormalization <axis={axis}> (x, o) }}"
    y = run(f"g (float[2] x) => (float[2] y) {text}", x=x)
    print(f"expected of axis {axis}", [-1.0, 1.0])
    print(f"got      of axis {axis}", y.tolist())
    wrong += not np.allclose(y, [-1, 1], rtol=1e-4)
sys.exit(int(wrong > 0))
