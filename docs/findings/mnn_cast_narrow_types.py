"""MNN 3.6.1: Cast and CastLike to types that it does not have give other types, unrounded and without an error.

Rule: ONNX Cast 25: the values are converted to the type that to states; CastLike 25: to that of the second input.
It has none of float16, bfloat16, the float8 and float4 types and the integers of 2 and 4 bits: it stays in float32, and
where CastLike's second input is of few bits, in int32. An integer that does not fit loses its upper bits by the rule.
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

# operator, type, value before, value after
TABLE = [
    *(("Cast", name, 1.3, 1.2998046875) for name in ["FLOAT16"]),
    *(("Cast", name, 1.3, 1.25) for name in ["FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"]),
    *(("Cast", name, 1.3, value) for name, value in [("FLOAT8E8M0", 2), ("FLOAT4E2M1", 1.5)]),
    *(("Cast", name, 1.3, 1) for name in ["INT4", "UINT4", "INT2", "UINT2"]),
    *(("CastLike", name, 1.3, value) for name, value in [("FLOAT16", 1.2998046875), ("BFLOAT16", 1.296875)]),
    *(("CastLike", name, 1.3, 1.25) for name in ["FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"]),
    *(("CastLike", name, 1.3, value) for name, value in [("FLOAT4E2M1", 1.5)]),
    *(("CastLike", name, 11, value) for name, value in [("INT4", -5), ("UINT2", 3), ("INT2", -1)]),
    ("CastLike", "UINT4", 27, 11),
]
wrong = 0
for operator, name, before, after in TABLE:
    of, kind = (onnx.TensorProto.INT32, expressions.int) if isinstance(before, int) else (1, expressions.float)
    to = getattr(onnx.TensorProto, name)
    ports = [h.make_tensor_value_info("x", of, [1])]
    ports += [h.make_tensor_value_info("like", to, [1])] if operator == "CastLike" else []
    node = h.make_node(operator, [port.name for port in ports], ["y"], **({"to": to} if operator == "Cast" else {}))
    graph = h.make_graph([node], "g", ports, [h.make_tensor_value_info("y", to, [1])])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 25)], ir_version=12)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
    given = [expressions.placeholder([1], expressions.NCHW, kind) for _ in ports]
    for variable in given:  # the second one's values do not matter
        variable.write(np.array([before], np.int32 if kind == expressions.int else np.float32))
    found = nn.load_module_from_file("m.mnn", [port.name for port in ports], ["y"]).forward(given)
    y = expressions.convert(found[0] if isinstance(found, (list, tuple)) else found, expressions.NCHW).read()
    if y.ravel()[0] != after:
        wrong = 1
        print("expected", operator, before, "to", name, after)
        print("got     ", operator, before, "to", name, y.dtype, y.ravel()[0])
sys.exit(wrong)
