"""MNN 3.6.1: Equal of two uint8 tensors that are both broadcast gives memory that nobody wrote.

Rule: ONNX Equal 13 takes uint8, and [3] with [3, 1] gives [3, 3]. The engine has no comparison of 8-bit integers: of
two tensors of one shape it gives no output ("Create execution error"), but where both are broadcast it gives one.
Greater, Less and those of int8 are the same.
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


def equal(a, b):
    """What MNN gives for Equal, or the number of outputs where there is none."""
    sizes = np.broadcast_shapes(a.shape, b.shape)
    graph = f"g (uint8{list(a.shape)} a, uint8{list(b.shape)} b) => (bool{list(sizes)} y) {{ y = Equal(a, b) }}"
    onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + graph), "m.onnx")
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
    module = nn.load_module_from_file("m.mnn", ["a", "b"], ["y"])
    given = []
    for x in (a, b):
        given.append(expressions.placeholder(list(x.shape), expressions.NCHW, expressions.uint8))
        given[-1].write(x)
    found = module.forward(given)
    found = found if isinstance(found, (list, tuple)) else [found]
    return [one.read().astype(bool).tolist() for one in found]


a = np.array([1, 2, 3], np.uint8)
expected = [(a == a[:, None]).tolist()]
got = [equal(a, a[:, None]) for _ in range(3)]
print("expected", expected)
print("got     ", *got)
print("of one shape it gives", len(equal(a, a)), "outputs")
sys.exit(int(any(one != expected for one in got)))
