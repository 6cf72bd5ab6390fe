"""OpenVINO 2026.4.1 (arguable): Add, Sub and Mul of uint8 and int8 stop at the ends of the type where others wrap around.

Rule: ONNX Add 14, Sub 14 and Mul 14 say nothing of a result that the type does not hold, and the results of ONNX's own
cases never leave it. ONNX's reference evaluator, onnxruntime, tract and TVM wrap around, and so does OpenVINO itself with
int32: 200 + 100 is 44 in uint8. Here it is 255.
Upstream: https://github.com/openvinotoolkit/openvino/issues/35651 (Add of int8, open),
https://github.com/openvinotoolkit/openvino/issues/35798 (Add and Mul), https://github.com/openvinotoolkit/openvino/issues/36177
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import helper as h

CASES = [
    ("Add", np.uint8, 200, 100, 44), ("Sub", np.uint8, 5, 10, 251), ("Mul", np.uint8, 20, 20, 144),
    ("Add", np.int8, 100, 100, -56), ("Sub", np.int8, -100, 100, 56), ("Mul", np.int8, 20, 20, -112),
]  # fmt: skip
core, wrong = ov.Core(), 0
for name, kind, one, other, want in CASES:
    inputs = {"a": np.array([one], kind), "b": np.array([other], kind)}
    of = h.np_dtype_to_tensor_dtype(np.dtype(kind))
    ports = [h.make_tensor_value_info(k, of, x.shape) for k, x in inputs.items()]
    graph = h.make_graph([h.make_node(name, ["a", "b"], ["y"])], "g", ports, [h.make_tensor_value_info("y", of, [1])])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    y = core.compile_model(core.read_model(model.SerializeToString()), "CPU")(inputs)[0]
    if y.tolist() != [want]:
        wrong += 1
        print("expected", name, np.dtype(kind).name, [want])
        print("got     ", name, np.dtype(kind).name, y.tolist())
sys.exit(int(wrong > 0))
