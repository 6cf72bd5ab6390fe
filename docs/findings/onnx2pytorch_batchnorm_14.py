"""onnx2pytorch 0.6.0: BatchNormalization with the attribute training_mode is refused, even where it is 0.

Rule: ONNX BatchNormalization 14 and 15, attribute training_mode: 0 is the default, inference. Opset 13 has no such
attribute, and the same node is converted. PyTorch's exporter writes it always.
Upstream: none known.
Needs onnx2pytorch==0.6.0, torch, torchvision, onnx and numpy.
Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import torch

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
import onnx2pytorch

TEXT = """<ir_version: 8, opset_import: ["": 14]>
g (float[1,1,1,2] x) => (float[1,1,1,2] y)
<float[1] s = {2}, float[1] b = {1}, float[1] m = {0}, float[1] v = {1}> {
    y = BatchNormalization<training_mode = 0, epsilon = 0.0>(x, s, b, m, v) }"""
model = onnx.parser.parse_model(TEXT)
onnx.checker.check_model(model, full_check=True)
expected = [3.0, 3.0]  # 2 * (1 - 0) / 1 + 1
try:
    got = onnx2pytorch.ConvertModel(model)(torch.ones(1, 1, 1, 2)).ravel().tolist()
except NotImplementedError as error:
    got = f"{type(error).__name__}: {error}"
print("expected", expected)
print("got     ", got)
sys.exit(int(isinstance(got, str) or not np.allclose(got, expected, atol=1e-5)))
