"""onnx2tf 1.29.24: QLinearMatMul gives the dequantised float32 value instead of the integer.

Rule: ONNX QLinearMatMul 10: y is the quantised product, of the type of y_zero_point. DynamicQuantizeLinear does the same.
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
inputs = {"a": np.array([[2, 4]], np.uint8), "b": np.array([[1], [3]], np.uint8)}
expected = np.array([[7]], np.uint8)
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
s = onnx.numpy_helper.from_array(np.array(0.5, np.float32), "s")
t = onnx.numpy_helper.from_array(np.array(0.5, np.float32), "t")
z = onnx.numpy_helper.from_array(np.array(0, np.uint8), "z")
nodes = [h.make_node("QLinearMatMul", ["a", "s", "z", "b", "s", "z", "t", "z"], ["y"])]
graph = h.make_graph(
    nodes, "g", ports, [h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)], [s, t, z]
)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 10)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
net = onnx2tf.convert(
    input_onnx_file_path="m.onnx",
    output_folder_path="out",
    non_verbose=True,
    disable_model_save=True,
    keep_shape_absolutely_input_names=list(inputs),
)
y = np.asarray(net(list(inputs.values())))
print("expected", expected.dtype, expected.shape, expected.ravel().tolist())
print("got     ", y.dtype, y.shape, y.ravel().tolist())
sys.exit(int(y.dtype != expected.dtype or not np.array_equal(y, expected)))
