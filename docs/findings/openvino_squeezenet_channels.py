"""OpenVINO 2026.4.1 (arguable): 1,000 channels of the same weights get two sums, which decides test_squeezenet.

Rule: ONNX Softmax 9 of 1,000 equal logits is 0.001 everywhere, which is also the output that onnx stores. The logits
are near 9.5e9, where the steps of float32 are 1,024 wide and e to the power of -1,024 is 0: a few steps between two
channels leave 0.125 for eight of them and 0 for all others. Arguable, because sums may be rounded in any order, and
because a network with such logits says little.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys

import numpy as np
import onnx
import openvino as ov

path = os.path.join(os.path.dirname(onnx.__file__), "backend/test/data/light/light_squeezenet.onnx")
model = onnx.load(path)
logits = model.graph.node[-1].input[0]
model.graph.output.append(onnx.helper.make_tensor_value_info(logits, onnx.TensorProto.FLOAT, None))
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
x = (np.arange(3 * 224 * 224).reshape(1, 3, 224, 224) / (3 * 224 * 224)).astype(np.float32)  # as onnx's own runner
result = compiled({"data_0": x})
found = np.unique(result[0]).tolist()
print("expected [0.001] of one logit")
print("got     ", found, "of the logits", np.unique(result[1]).tolist())
sys.exit(int(not np.allclose(found, 0.001)))
