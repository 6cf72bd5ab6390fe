"""OpenVINO 2026.4.1: a constant that int32 does not hold is cut to an end of int32: 0 + 2 ** 40 is 2147483647.

Rule: ONNX Add 14 takes uint32, int64 and uint64, and a constant has the type that it is declared with.
Sub, Mul, Max, Min, Where, Concat, Gather and ScatterElements do the same. An input in place of the constant keeps
its lower 32 bits instead (openvino_int64_is_int32.py).
Upstream: https://github.com/openvinotoolkit/openvino/issues/35891 (ConstantOfShape, open)
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov

core, wrong = ov.Core(), 0
for kind, value in (("int64", 2**40), ("int64", -(2**40)), ("uint64", 2**40), ("uint32", 2**31 + 5)):
    text = f'<ir_version: 8, opset_import: ["": 17]> g ({kind}[1] x) => ({kind}[1] y) {{ y = Add(x, c) }}'
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([value], kind), "c"))
    onnx.checker.check_model(model, full_check=True)
    read = core.read_model(model.SerializeToString())
    y = core.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([np.zeros(1, kind)])[0]
    wrong += y.tolist() != [value]
    print("expected", kind, [value])
    print("got     ", kind, y.tolist())
sys.exit(int(wrong > 0))
