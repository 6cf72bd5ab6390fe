"""onnx2torch 1.5.15: there is no converter for LSTM (not supported).

Rule: ONNX LSTM 1 to 22: an operator since the first opset.
Upstream: none known.
Needs onnx2torch==1.5.15, torch, torchvision, onnx and numpy.
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
import onnx2torch

TEXT = """<ir_version: 8, opset_import: ["": 14]>
g (float[1,1,1] x) => (float[1,1,1,1] y)
<float[1,4,1] w = {1, 1, 1, 1}, float[1,4,1] r = {1, 1, 1, 1}, float[1,8] b = {0, 0, 0, 0, 0, 0, 0, 0}> {
    y = LSTM<hidden_size = 1>(x, w, r, b) }"""
model = onnx.parser.parse_model(TEXT)
onnx.checker.check_model(model, full_check=True)
gate = 1 / (1 + np.exp(-1))
expected = [float(gate * np.tanh(gate * np.tanh(1)))]
try:
    got = onnx2torch.convert(model)(torch.ones(1, 1, 1)).ravel().tolist()
except NotImplementedError as error:
    got = f"{type(error).__name__}: {error}"
print("expected", expected)
print("got     ", got)
sys.exit(int(isinstance(got, str) or not np.allclose(got, expected, atol=1e-5)))
