"""onnx2torch 1.5.15: no converter for Reshape 19, which torch's dynamo exporter writes.

Rule: none of ONNX's; Reshape 19 differs from Reshape 14, which is converted, by types alone. Converters are registered
for one version of an operator each: ReduceMean 18, AveragePool 19 and Shape 19 are missing too, and of a model with a
ReduceMean dynamo writes no opset below 18.
Upstream: https://github.com/ENOT-AutoDL/onnx2torch/pull/251 adds Transpose 21 for the same reason.
Needs: pip install onnx2torch==1.5.15 torch torchvision onnx. Exits with 1 while the defect shows.
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
import onnx2torch  # noqa: E402


def converted(opset):
    ports = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, [4]),
    ]
    shape = numpy_helper.from_array(np.array([-1]), "shape")
    graph = helper.make_graph([helper.make_node("Reshape", ["x", "shape"], ["y"])], "g", ports[:1], ports[1:], [shape])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    try:
        return list(onnx2torch.convert(model)(torch.ones(2, 2)).shape)
    except NotImplementedError as error:
        return f"{type(error).__name__}: {error}"


print("expected", converted(18), "as with opset 18")
got = converted(19)
print("got     ", got)
sys.exit(0 if got == [4] else 1)
