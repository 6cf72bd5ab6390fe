"""onnx2tf 1.29.24: GridSample in mode nearest takes the odd neighbour where a point lies halfway between two.

Rule: ONNX GridSample 20: 'The "nearest" mode rounds to the nearest even index when the sampling point falls halfway
between two indices.'
onnx2tf adds the padding of 1 before it rounds: the point 0.5 becomes 1.5, and that is rounded to 2.
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
inputs = {
    "x": np.array([[[[0, 1], [2, 3], [4, 5]]]], np.float32),
    "grid": np.array([[[[0, 0], [-0.5, -0.5]]]], np.float32),
}
expected = np.array([[[[2, 0]]]], np.float32)
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
nodes = [h.make_node("GridSample", ["x", "grid"], ["y"], mode="nearest")]
outputs = [h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)]
graph = h.make_graph(nodes, "g", ports, outputs)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
net = onnx2tf.convert(
    input_onnx_file_path="m.onnx",
    output_folder_path="out",
    non_verbose=True,
    disable_model_save=True,
    keep_shape_absolutely_input_names=["grid"],
)
given = [np.moveaxis(inputs["x"], 1, -1), inputs["grid"]]  # onnx2tf gives a network of channels last
y = np.moveaxis(np.asarray(net(given)), -1, 1)
print("expected", expected.dtype, expected.shape, expected.ravel()[:16].tolist())
print("got     ", y.dtype, y.shape, y.ravel()[:16].tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
