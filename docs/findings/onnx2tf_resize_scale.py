"""onnx2tf 1.29.24: Resize computes positions from the ratio of the sizes where the scale is another one (arguable).

Rule: ONNX Resize 19, half_pixel: x_original = (x_resized + 0.5) / scale - 0.5. The text has scale = length_resized /
length_original, and a target length that 'can be a fractional number when it is calculated out of a scale factor'.
onnx's own case test_resize_downsample_scales_linear and its reference take the given scale, 0.6. onnx2tf takes
floor(4 * 0.6) / 4 = 0.5.
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
inputs = {"x": np.array([[[[1, 2, 3, 4], [5, 6, 7, 8]]]], np.float32)}
expected = np.array([[[[2.6666667, 4.3333333]]]], np.float32)
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
constants = [onnx.numpy_helper.from_array(np.array([1, 1, 0.6, 0.6], np.float32), "scales")]
nodes = [h.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear")]
outputs = [h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)]
graph = h.make_graph(nodes, "g", ports, outputs, constants)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
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
