"""onnx2tf 1.29.24: AveragePool with SAME_LOWER pads two rows and no column instead of one and one.

Rule: ONNX AveragePool 11: auto_pad SAME_LOWER pads such that the output has ceil(size / stride) elements in each
dimension.
3 x 3 elements become 4 x 2. LpPool and MaxPool take the same function.
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
inputs = {"x": np.ones((1, 1, 3, 3), np.float32)}
expected = np.ones((1, 1, 3, 3), np.float32)
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
nodes = [h.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], auto_pad="SAME_LOWER")]
outputs = [h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)]
graph = h.make_graph(nodes, "g", ports, outputs)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 11)], ir_version=8)
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
