"""onnx2tf 1.29.24: LpPool with SAME_UPPER gives too large a norm at the edge.

Rule: ONNX LpPool 18: the Lp norm of the elements under the kernel; padding adds nothing to it.
onnx2tf takes TensorFlow's average, which leaves the padding out, times the size of the kernel: sqrt(4 * 4 * 2).
Where pads come to the same as SAME_UPPER it does that, too.
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
inputs = {"x": np.array([[[[3, 4]]]], np.float32)}
expected = np.array([[[[5, 4]]]], np.float32)
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
nodes = [h.make_node("LpPool", ["x"], ["y"], kernel_shape=[1, 2], auto_pad="SAME_UPPER", p=2)]
outputs = [h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)]
graph = h.make_graph(nodes, "g", ports, outputs)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=8)
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
