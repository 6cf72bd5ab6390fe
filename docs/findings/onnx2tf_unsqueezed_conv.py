"""onnx2tf 1.29.24: a convolution between Unsqueeze and Squeeze, which is how tf2onnx writes Conv1D, is refused.

Rule: Unsqueeze 13: axes are the places of the inserted dimensions in the result; Squeeze 13 takes the same ones away.
onnx2tf keeps the inserted axis at its place of ONNX's order and then squeezes the place of TensorFlow's order.
Upstream: none known.
Needs: pip install onnx2tf==1.29.24 onnx onnxsim onnxruntime tensorflow-cpu==2.21.0. Exits with 1 while the defect shows.
"""

import sys
import tempfile

import numpy as np
import onnx
import onnx2tf
from onnx import TensorProto, helper, numpy_helper

nodes = [
    helper.make_node("Unsqueeze", ["x", "axis"], ["image"]),
    helper.make_node("Conv", ["image", "w"], ["sum"], pads=[0, 2, 0, 2]),
    helper.make_node("Squeeze", ["sum", "axis"], ["signal"]),
    helper.make_node("Relu", ["signal"], ["y"]),
]
weights = np.ones((8, 4, 1, 5), np.float32)
constants = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(np.array([2]), "axis")]
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 64])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 64])
model = helper.make_model(
    helper.make_graph(nodes, "g", [x], [y], constants), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
)
onnx.checker.check_model(model, full_check=True)
with tempfile.TemporaryDirectory() as folder:
    onnx.save(model, f"{folder}/model.onnx")
    try:
        net = onnx2tf.convert(f"{folder}/model.onnx", output_folder_path=folder, non_verbose=True)
        got = sorted(np.array(net(np.ones((1, 64, 4), np.float32))).shape)
    except (Exception, SystemExit) as error:
        got = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
print("expected a network with a result of", [1, 8, 64])
print("got     ", got)
sys.exit(0 if got == [1, 8, 64] else 1)
