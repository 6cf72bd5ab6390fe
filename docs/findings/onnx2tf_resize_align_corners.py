"""onnx2tf 1.29.24: from opset 18 on every Resize is done with half_pixel.

Rule: ONNX Resize 18, coordinate_transformation_mode align_corners: x_original = x_resized * (length_original - 1) /
(length_resized - 1).
With opset 13 the same node is right.
Needs onnx2tf==1.29.24 with its dependencies (tensorflow-cpu==2.21.0), onnx and numpy. Ends with 1 while the defect shows.
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
inputs = {"x": np.array([[[[1, 2, 3, 4]]]], np.float32)}
expected = np.array([[[[1, 4]]]], np.float32)
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
s = onnx.numpy_helper.from_array(np.array([1, 1, 1, 0.5], np.float32), "s")
nodes = [
    h.make_node("Resize", ["x", "", "s"], ["y"], mode="linear", coordinate_transformation_mode="align_corners"),
]
graph = h.make_graph(nodes, "g", ports, [h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)], [s])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
net = onnx2tf.convert(
    input_onnx_file_path="m.onnx",
    output_folder_path="out",
    non_verbose=True,
    disable_model_save=True,
    keep_shape_absolutely_input_names=list(inputs),
)
y = np.asarray(net(inputs["x"]))
print("expected", expected.dtype, expected.shape, expected.ravel().tolist())
print("got     ", y.dtype, y.shape, y.ravel().tolist())
sys.exit(int(not np.allclose(y.ravel(), expected.ravel())))
