"""OpenVINO 2026.4.1: a Pad with 0 between quantised layers pads with the zero point times the scale.

Rule: ONNX Pad 13: in the mode constant the new values are constant_value, which is 0 by default; the pairs of
QuantizeLinear and DequantizeLinear around it have one scale and one zero point, which stands for 0.
It is right with a zero point of 0, and without a pair behind the Pad.
Upstream: none known.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import helper as h
from onnx import numpy_helper

draw = np.random.default_rng(0)
known = {
    "s": np.float32(0.03), "p": np.array([0, 0, 4, 0, 0, 0]), "ws": np.float32(0.004), "wz": np.int8(0),
    "w": draw.integers(-127, 128, (8, 4, 1)).astype("int8"),
}  # fmt: skip
nodes = [
    h.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), h.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
    h.make_node("Pad", ["d", "p"], ["e"]), h.make_node("QuantizeLinear", ["e", "s", "z"], ["f"]),
    h.make_node("DequantizeLinear", ["f", "s", "z"], ["g"]), h.make_node("DequantizeLinear", ["w", "ws", "wz"], ["v"]),
    h.make_node("Conv", ["g", "v"], ["y"]),
]  # fmt: skip
ports = [h.make_tensor_value_info("x", 1, [1, 4, 16]), h.make_tensor_value_info("y", 1, [1, 8, 20])]
x, core, off = draw.normal(size=(1, 4, 16)).astype("float32"), ov.Core(), {}
for zero in 0, 125:
    tensors = [numpy_helper.from_array(np.asarray(v), name) for name, v in {**known, "z": np.uint8(zero)}.items()]
    graph = h.make_graph(nodes, "g", ports[:1], ports[1:], tensors)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    padded = np.pad((np.clip(np.rint(x / 0.03) + zero, 0, 255) - zero) * 0.03, ((0, 0), (0, 0), (4, 0)))
    exact = np.einsum("oc,nct->not", known["w"][:, :, 0] * 0.004, padded)
    off[zero] = float(abs(compiled([x])[0] - exact).max())
    print(f"zero point {zero}: expected no difference, got {off[zero]:.2g}")
sys.exit(int(max(off.values()) > 0.01))
