"""MNN 3.6.1: a constant of uint32 above 2147483647 is taken for a negative number.

Rule: ONNX Greater 13 and LessOrEqual 16 take uint32, whose numbers go up to 4294967295; 2 is not greater than
4294967295. The converter writes the constant with the same 32 bits as int32, and says nothing.
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
    for one in model.graph.initializer:  # as raw_data, the only form of uint32 that it reads
        one.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(one), one.name))
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


x = np.array([2, 5], np.int32)  # MNN has no unsigned integers of 32 bits; these fit into both
wrong = 0
for operator, expected in {"Greater": [0, 0], "GreaterOrEqual": [0, 0], "Less": [1, 1], "LessOrEqual": [1, 1]}.items():
    y = run(f"g (uint32[2] x) => (bool[2] y) <uint32[1] c = {{4294967295}}> {{ y = {operator}(x, c) }}", x=x)
    print("expected", operator, expected)
    print("got     ", operator, y.tolist())
    wrong += y.tolist() != expected
sys.exit(int(wrong > 0))
