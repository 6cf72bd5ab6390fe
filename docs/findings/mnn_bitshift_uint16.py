"""MNN 3.6.1: BitShift to the left of uint16 keeps the bits above the sixteenth: 40000 << 1 is 80000.

Rule: ONNX BitShift 11 takes and gives uint16, 'bits of binary representation moves toward the left side'; of 40000 <<
1, which is 80000, the lowest sixteen bits are 14464. The engine holds every such integer in 32 bits and cuts none off.
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
        given.append(expressions.placeholder(list(x.shape), expressions.NCHW, expressions.int))
        given[-1].write(x)
    found = module.forward(given)
    y = found[0] if isinstance(found, (list, tuple)) else found
    return expressions.convert(y, expressions.NCHW).read()


x, n = np.array([40000, 3], np.int32), np.array([1, 2], np.int32)
y = run('g (uint16[2] x, uint16[2] n) => (uint16[2] y) { y = BitShift <direction="LEFT"> (x, n) }', x=x, n=n)
print("expected", [14464, 12])
print("got     ", y.tolist())
sys.exit(int(y.tolist() != [14464, 12]))
