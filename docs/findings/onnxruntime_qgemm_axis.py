"""onnxruntime 1.31.1: QGemm takes scales along the inputs of a Gemm's weights for scales along its outputs.

Rule: ONNX DequantizeLinear 13: 'axis' is 'the axis of the dequantizing dimension of the input tensor'; the pairs around
a Gemm may be fused only where its result stays the same.
The quantiser writes such an axis where one weight goes into a Gemm with transB and one without.
Upstream: none known.
Needs onnxruntime==1.31.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper as h
from onnx import numpy_helper

draw = np.random.default_rng(0)
known = {
    "w": draw.integers(-127, 128, (8, 8)).astype("int8"), "ws": draw.uniform(0.001, 0.01, 8).astype("float32"),
    "wz": np.zeros(8, "int8"), "s": np.float32(0.03), "z": np.uint8(128), "t": np.float32(0.1), "u": np.uint8(128),
}  # fmt: skip
nodes = [
    h.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), h.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
    h.make_node("DequantizeLinear", ["w", "ws", "wz"], ["v"], axis=0), h.make_node("Gemm", ["d", "v"], ["g"]),
    h.make_node("QuantizeLinear", ["g", "t", "u"], ["r"]), h.make_node("DequantizeLinear", ["r", "t", "u"], ["y"]),
]  # fmt: skip
ports = [h.make_tensor_value_info(name, 1, [4, 8]) for name in "xy"]
tensors = [numpy_helper.from_array(np.asarray(values), name) for name, values in known.items()]
model = h.make_model(
    h.make_graph(nodes, "g", ports[:1], ports[1:], tensors), opset_imports=[h.make_opsetid("", 17)], ir_version=8
)
onnx.checker.check_model(model, full_check=True)
x = draw.normal(size=(4, 8)).astype("float32")
found = {}
for level in ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL:
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    [found[level.name]] = ort.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})
exact = np.clip(np.rint(x / known["s"]), -128, 127) * known["s"] @ (known["w"] * known["ws"][:, None])
off = {name: float(abs(y - exact).max()) for name, y in found.items()}
print("expected at most 0.051 (half a step), got", off)
sys.exit(int(max(off.values()) > 0.06))
