"""onnx2pytorch 0.6.0: an LSTM whose weights are computed, here by a Reshape of a constant, is refused.

Rule: LSTM 7 and 14, input W: a tensor, from wherever. mx2onnx cuts W, R and B out of one vector and reshapes them.
Message: "LSTM W has to be a constant".
Upstream: https://github.com/Talmaj/onnx2pytorch/pull/15 added LSTM.
Needs: pip install onnx2pytorch==0.6.0 torch torchvision onnx. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

try:
    import torchvision  # noqa: F401
except RuntimeError:  # compiled for another build of torch; it must be importable, and is not used
    for name in [name for name in sys.modules if name.startswith("torchvision")]:
        del sys.modules[name]
    kept = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        kept.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    kept.define(
        "roi_align(Tensor x, Tensor rois, float scale, int height, int width, int ratio, bool aligned) -> Tensor"
    )
import onnx2pytorch  # noqa: E402

nodes = [
    helper.make_node("Reshape", ["w", "shape"], ["W"]),
    helper.make_node("LSTM", ["x", "W", "r", "b"], ["y"], hidden_size=1),
]
held = {
    "w": np.ones(4, np.float32),
    "shape": np.array([1, 4, 1]),
    "r": np.ones((1, 4, 1), np.float32),
    "b": np.zeros((1, 8), np.float32),
}
ports = [
    helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 1]),
    helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 1, 1]),
]
graph = helper.make_graph(
    nodes, "g", ports[:1], ports[1:], [numpy_helper.from_array(x, name) for name, x in held.items()]
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
sigmoid = 1 / (1 + np.exp(-1))
expected = float(sigmoid * np.tanh(sigmoid * np.tanh(1)))
try:
    got = float(onnx2pytorch.ConvertModel(model)(torch.ones(1, 1, 1)).ravel()[0])
except Exception as error:  # of whatever type the converter has
    got = f"{type(error).__name__}: {error}"
print("expected", expected)
print("got     ", got)
sys.exit(0 if isinstance(got, float) and np.isclose(got, expected) else 1)
