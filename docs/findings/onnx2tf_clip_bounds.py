"""onnx2tf drops the lower bound of a Clip whose bounds are both inputs of the graph.

onnx2tf 1.29.24, tensorflow-cpu 2.21.0, onnx 1.23.2. ONNX Clip-13: y = Min(max, Max(input, min)). With min and max as graph
inputs onnx2tf makes tf.minimum(x, max) alone, without a warning: the branch for "no lower bound" is also taken for one
whose value is not known at conversion. With constants, or with one bound, it is right or fails. (This is what onnx's cases
test_clip, test_clip_example, test_clip_outbounds and test_clip_min_greater_than_max show; min above max is beside the point.)
Needs onnx2tf with its dependencies. Ends with 1 while the defect shows.
"""

import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import onnx
import onnx2tf
from onnx import TensorProto, helper

os.chdir(tempfile.mkdtemp())
scalars = [helper.make_tensor_value_info(name, TensorProto.FLOAT, []) for name in ("low", "high")]
graph = helper.make_graph(
    [helper.make_node("Clip", ["x", "low", "high"], ["y"])],
    "g",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3]), *scalars],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), "model.onnx")
net = onnx2tf.convert(
    input_onnx_file_path="model.onnx", output_folder_path="out", non_verbose=True, not_use_onnxsim=True,
    disable_model_save=True,
)
found = np.asarray(net([np.float32([-6, 0, 6]), np.float32([-5]), np.float32([5])]))
print("expected [-5.  0.  5.], found", found)
sys.exit(not np.array_equal(found, [-5, 0, 5]))
