"""MNN 3.6.1: `mnnconvert --fp16` cuts weights off towards zero instead of rounding to nearest (stage compile, mismatch).

IEEE 754's default, and ONNX's Cast from float32 to float16, is round to nearest, ties to even. The converter's float16
weights are the truncated ones bit for bit, so every weight shrinks a little and the errors add up instead of
cancelling: E of digits_cnn 2.4e-3 instead of 5.9e-4, of MobileNetV2 1.0e-1 instead of 3.2e-2. Work-around: hand it
weights that are already rounded (our precision w16 with the graph w16). Needs numpy, onnx, mnn==3.6.1; the command
`mnnconvert` is avoided, see mnn_pip.py.
"""

import _tools
import MNN.expr as F
import MNN.nn as nn
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

w = np.random.default_rng(0).standard_normal((8, 8, 1, 1)).astype("f4")
shape = [1, 8, 8, 1]
graph = h.make_graph([h.make_node("Conv", ["x", "w"], ["y"])], "g", [h.make_tensor_value_info("x", T.FLOAT, shape)],
                     [h.make_tensor_value_info("y", T.FLOAT, shape)], [numpy_helper.from_array(w, "w")])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "conv.onnx")
_tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "conv.onnx", "--MNNModel", "conv.mnn", "--bizCode", "b", "--fp16"])
manager = nn.create_runtime_manager(({"backend": "CPU", "precision": "high", "numThread": 1},))
module = nn.load_module_from_file("conv.mnn", ["x"], ["y"], runtime_manager=manager)
x = np.eye(8, dtype="f4").reshape(shape)  # the output is the stored weights themselves
v = F.placeholder(shape, F.NCHW, F.float)
v.write(x)
stored = F.convert(module.forward([v])[0], F.NCHW).read().reshape(8, 8)
nearest = w[:, :, 0, 0].astype("f2")
cut = np.where(abs(nearest.astype("f4")) > abs(w[:, :, 0, 0]), np.nextafter(nearest, np.float16(0)), nearest)
print("RESULT equal to nearest", (stored == nearest).mean(), "equal to truncated", (stored == cut).mean())
