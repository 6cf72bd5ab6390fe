"""OpenVINO 2026.4.1: Expand of a size of 0 is refused where the shape, a constant, has a 1 at that place.

Rule: ONNX Expand 13 follows "the broadcast rule": a 1 of either side becomes the size of the other one, 0 here.
(5, 2) with the shape (4, 1, 1) is right, and so is (5, 0) with the same shape as an input of the graph.
Upstream: none known.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov

text = '<ir_version: 8, opset_import: ["": 17]> g (float[5,0] x) => (float[4,5,0] y) { y = Expand(x, shape) }'
model = onnx.parser.parse_model(text)
model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([4, 1, 1]), "shape"))
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
print("expected", (4, 5, 0))
try:
    read = core.read_model(model.SerializeToString())
    y = core.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([np.zeros((5, 0), np.float32)])[0]
except RuntimeError as error:
    print("got      an error:", str(error)[str(error).find("Input shape dimension") :].splitlines()[0][:140])
    sys.exit(1)
print("got     ", y.shape)
sys.exit(int(y.shape != (4, 5, 0)))
