"""onnx2tf 1.29.24: AveragePool in two dimensions ignores dilations.

Rule: ONNX AveragePool 19: the output has floor((4 - 2 * (2 - 1) - 1) / 1 + 1) = 2 elements, each of four that lie two
apart.
Neighbours are averaged, and the output has 3 x 3 elements.
Upstream: https://github.com/PINTO0309/onnx2tf/issues/239 (closed; it asked for this attribute)
Needs onnx2tf==1.29.24 with its dependencies (tensorflow-cpu==2.21.0), onnx and numpy.
Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import onnx
import onnx2tf
from onnx import helper as h

os.chdir(tempfile.mkdtemp())
inputs = {"x": np.arange(1, 17, dtype=np.float32).reshape(1, 1, 4, 4)}
expected = np.array([[[[6, 7], [10, 11]]]], np.float32)
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
nodes = [h.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], dilations=[2, 2])]
outputs = [h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)]
graph = h.make_graph(nodes, "g", ports, outputs)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 19)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
net = onnx2tf.convert(
    input_onnx_file_path="m.onnx",
    output_folder_path="out",
    non_verbose=True,
    disable_model_save=True,
)
y = np.moveaxis(np.asarray(net(np.moveaxis(inputs["x"], 1, -1))), -1, 1)  # onnx2tf gives a network of channels last
print("expected", expected.dtype, expected.shape, expected.ravel()[:16].tolist())
print("got     ", y.dtype, y.shape, y.ravel()[:16].tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
