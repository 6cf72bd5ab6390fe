"""onnx2tf 1.29.24: Flatten of what a pooling gives takes the channels last.

Rule: ONNX Flatten 13 keeps the order of the elements of its input, whose channels are first.
MaxPool, then Flatten as the output: the elements come in the order of TensorFlow's layout. A network of digits that has a
Gemm behind Flatten is right.
Upstream: none known
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
inputs = {"x": np.arange(16, dtype=np.float32).reshape(1, 2, 4, 2)}
expected = np.array([[3, 7, 11, 15]], np.float32)  # the largest of four elements: 3 and 7 of the first channel
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
window = {"kernel_shape": [2, 2], "strides": [2, 2]}
nodes = [h.make_node("MaxPool", ["x"], ["m"], **window), h.make_node("Flatten", ["m"], ["y"])]
graph = h.make_graph(nodes, "g", ports, [h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
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
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
