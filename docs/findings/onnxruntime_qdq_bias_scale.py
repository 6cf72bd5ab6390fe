"""onnxruntime 1.31.1: a bias of integers behind a quantised Gemm is taken for one with another scale than it has.

Rule: ONNX DequantizeLinear 13, "y = (x - x_zero_point) * x_scale": a bias of 10 steps of 0.5 is 5. QGemm adds the 10 steps
in units of the scale of the input times that of the weights, 0.1 here. Two layers that share a bias, with inputs of other
scales, are written so. Right without optimisations.
Upstream: https://github.com/microsoft/onnxruntime/pull/28229 fixes the same in Conv.
Needs: pip install onnxruntime==1.31.1 onnx numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

constants = {
    "zero": np.uint8(0), "none": np.int8(0), "still": np.int32(0), "tenth": np.float32(0.1), "one": np.float32(1),
    "half": np.float32(0.5), "weights": np.int8([[1], [2]]), "bias": np.int32([10]),
}  # fmt: skip
nodes = [
    helper.make_node("QuantizeLinear", ["x", "tenth", "zero"], ["q"]),
    helper.make_node("DequantizeLinear", ["q", "tenth", "zero"], ["a"]),
    helper.make_node("DequantizeLinear", ["weights", "one", "none"], ["w"]),
    helper.make_node("DequantizeLinear", ["bias", "half", "still"], ["b"]),
    helper.make_node("Gemm", ["a", "w", "b"], ["g"]),
    helper.make_node("QuantizeLinear", ["g", "tenth", "zero"], ["r"]),
    helper.make_node("DequantizeLinear", ["r", "tenth", "zero"], ["y"]),
]
ports = [
    helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [1, 2]), ("y", [1, 1]))
]
tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], tensors)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
got = {}
for level in "ORT_DISABLE_ALL", "ORT_ENABLE_ALL":
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    got[level] = float(session.run(None, {"x": np.float32([[1, 2]])})[0][0, 0])
print("expected 1 * 1 + 2 * 2 + 10 * 0.5 = 10.0")
print("got     ", got)
sys.exit(int(abs(got["ORT_ENABLE_ALL"] - 10) > 0.06))
