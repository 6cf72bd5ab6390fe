"""MNN 3.6.1: a result of uint32 above 2147483647 comes as a negative number of int32.

Rule: ONNX ReduceSum 13 and CumSum 14 take uint32 and give uint32: 2000000000 + 637052753 is 2637052753. The engine has
no unsigned integers of 32 bits, and the converter says nothing of it. Of constants: mnn_uint32_constants.py.
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
x = np.array([2000000000, 637052753], np.uint32)
CASES = {
    "uint32[1] y) { y = ReduceSum(x) }": [2637052753],
    "uint32[2] y) <int64 i = {0}> { y = CumSum(x, i) }": [2000000000, 2637052753],
}
wrong = False
for text, expected in CASES.items():
    graph = f"g (uint32[2] x) => ({text}"
    onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + graph), "m.onnx")
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
    module = nn.load_module_from_file("m.mnn", ["x"], ["y"])
    given = expressions.placeholder([2], expressions.NCHW, expressions.int)
    given.write(x.view(np.int32))
    found = module.forward([given])
    y = (found[0] if isinstance(found, (list, tuple)) else found).read().ravel()
    print("expected", expected)
    print("got     ", y.dtype, y.tolist())
    wrong |= y.tolist() != expected
sys.exit(int(wrong))
