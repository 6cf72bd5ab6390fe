"""onnx2tf 1.29.24: QuantizeLinear as an output gives the dequantised float32 value.

Rule: ONNX QuantizeLinear 13: y is the quantised integer, of the type of y_zero_point.
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
inputs = {"x": np.array([0, 1, 2.6], np.float32)}
expected = np.array([3, 5, 8], np.uint8)
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
constants = [
    onnx.numpy_helper.from_array(np.array(0.5, np.float32), "scale"),
    onnx.numpy_helper.from_array(np.array(3, np.uint8), "zero"),
]
nodes = [h.make_node("QuantizeLinear", ["x", "scale", "zero"], ["y"])]
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
    keep_shape_absolutely_input_names=list(inputs),
)
y = np.asarray(net(inputs["x"]))
print("expected", expected.dtype, expected.shape, expected.ravel()[:16].tolist())
print("got     ", y.dtype, y.shape, y.ravel()[:16].tolist())
sys.exit(int(y.dtype != expected.dtype or not np.array_equal(y, expected)))
