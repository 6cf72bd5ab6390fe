"""OpenVINO 2026.4.1: int2 and uint2 are refused (not supported).

Rule: ONNX QuantizeLinear and DequantizeLinear 25: int2 and uint2 are among the types of y and x.
Upstream: none known.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import TensorProto
from onnx import helper as h

wrong = []
for kind in ("INT2", "UINT2"):
    held = [h.make_tensor("q", getattr(TensorProto, kind), [4, 2], [1] * 8)]
    held.append(onnx.numpy_helper.from_array(np.float32(1), "s"))
    nodes = [h.make_node("DequantizeLinear", ["q", "s"], ["w"]), h.make_node("MatMul", ["x", "w"], ["y"])]
    ports = [h.make_tensor_value_info(name, TensorProto.FLOAT, [1, size]) for name, size in (("x", 4), ("y", 2))]
    model = h.make_model(
        h.make_graph(nodes, "g", ports[:1], ports[1:], held), opset_imports=[h.make_opsetid("", 25)], ir_version=13
    )
    onnx.checker.check_model(model, full_check=True)
    try:
        core = ov.Core()
        compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
        got = compiled({"x": np.ones((1, 4), np.float32)})[0].tolist()
    except RuntimeError as error:
        got = " ".join(str(error).split())[-240:-160]
    print("expected", kind, [[4.0, 4.0]])
    print("got     ", kind, got)
    wrong.append(got != [[4.0, 4.0]])
sys.exit(int(any(wrong)))
