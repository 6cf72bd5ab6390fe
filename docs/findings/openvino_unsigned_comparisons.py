"""OpenVINO 2026.4.1: comparisons, Max, Min, Clip, Div and Mod of uint32, uint64 and int64 are computed in 32 signed bits.

Rule: ONNX Greater 13, Less 13, Max 13, Min 13, Clip 13, Div 14 and Mod 13 have these types; 2 ** 31 + 1 is greater
than 1, and the larger one of 2 ** 40 and 1 is 2 ** 40. The CPU plug-in converts all three types to int32.
Upstream: https://github.com/openvinotoolkit/openvino/issues/35825 (Greater of int64, open)
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import helper as h

a, b = 2**31 + 5, 3
CASES = [
    *[(name, kind, a, b, want) for kind in (np.uint32, np.uint64) for name, want in (
        ("Greater", True), ("Less", False), ("Max", a), ("Min", b), ("Div", a // b), ("Mod", a % b))],
    ("Max", np.int64, 2**40, 1, 2**40),
    ("Min", np.int64, -(2**40), 1, -(2**40)),
    ("Clip", np.int64, 2**40, 1, 2**40),
]  # fmt: skip
core, wrong = ov.Core(), 0
for name, kind, one, other, want in CASES:
    inputs = {"a": np.array([one], kind), "b": np.array([other], kind)}
    expected = np.array([want], bool if isinstance(want, bool) else kind)
    port = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
    result = h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)
    graph = h.make_graph([h.make_node(name, ["a", "b"], ["y"])], "g", port, [result])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    net = core.compile_model(
        core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    y = net(inputs)[0]
    if not np.array_equal(y, expected):
        wrong += 1
        print("expected", name, np.dtype(kind).name, expected.tolist())
        print("got     ", name, np.dtype(kind).name, y.tolist())
sys.exit(int(wrong > 0))
