"""MNN 3.6.1: the engine has no kernels for BitShift and comparisons of 8-bit integers. (not supported)

Rule: ONNX Equal 13, Less 13, LessOrEqual 16, Greater 13, GreaterOrEqual 16 and BitShift 28 take int8 and uint8.
The inputs have the type that the file states; the engine prints "Create execution error : 7".
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
from onnx import helper as h

os.chdir(tempfile.mkdtemp())

a, b = [1, 2, 3], [2, 2, 2]
TABLE = {
    "Equal": [0, 1, 0],
    "Less": [1, 0, 0],
    "LessOrEqual": [1, 1, 0],
    "Greater": [0, 0, 1],
    "GreaterOrEqual": [0, 1, 1],
    "BitShift": [4, 8, 12],
}
FILES = ["--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"]
wrong = 0
for operator, expected in TABLE.items():
    for of in (np.int8, np.uint8):
        kind = h.np_dtype_to_tensor_dtype(np.dtype(of))
        ports = [h.make_tensor_value_info(name, kind, [3]) for name in ("a", "b")]
        y = h.make_tensor_value_info("y", kind if operator == "BitShift" else onnx.TensorProto.BOOL, [3])
        node = h.make_node(operator, ["a", "b"], ["y"], **({"direction": "LEFT"} if operator == "BitShift" else {}))
        graph = h.make_graph([node], "g", ports, [y])
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", 28)], ir_version=10)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, "m.onnx")
        _tools.mnnconvert(["mnnconvert", "-f", "ONNX", *FILES])
        given = []
        for values in (a, b):
            given.append(expressions.placeholder([3], expressions.NCHW, expressions.int))
            given[-1].write(np.array(values, np.int32))
            given[-1] = expressions.cast(given[-1], expressions.int8 if of is np.int8 else expressions.uint8)
        found = nn.load_module_from_file("m.mnn", ["a", "b"], ["y"]).forward(given)
        if not found or expressions.convert(found[0], expressions.NCHW).read().tolist() != expected:
            wrong = 1
            print("expected", operator, of.__name__, expected)
            print("got     ", operator, of.__name__, found and found[0].read().tolist())
sys.exit(wrong)
