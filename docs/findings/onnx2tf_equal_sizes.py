"""onnx2tf permutes the elements in front of a Reshape when a tensor's sizes happen to be equal.

onnx2tf 1.29.24, tensorflow-cpu 2.21.0, onnx 1.23.2. Relu, then Reshape to one row, with the input's layout kept
(keep_shape_absolutely_input_names). ONNX Reshape-14 keeps the order of the elements. For x of [1, 3, 5] it does; for
[1, 3, 3] onnx2tf transposes in front of the Reshape, as if the tensor had been moved to channels last: it tells layouts
apart by comparing shapes, and these are the same both ways. So a graph is right at one size and wrong at another, without
an error. Gather and Concat in front do the same; a Reshape of the input itself, or behind MatMul, is right.
Needs onnx2tf with its dependencies. Ends with 1 while the defect shows.
"""

import os
import sys
import tempfile

os.environ.update({"TF_CPP_MIN_LOG_LEVEL": "3", "TF_USE_LEGACY_KERAS": "1"})

import numpy as np
import onnx
import onnx2tf
from onnx import TensorProto, helper

os.chdir(tempfile.mkdtemp())
wrong = False
for columns in (5, 3):
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Reshape", ["r", "shape"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, columns])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3 * columns])],
        [helper.make_tensor("shape", TensorProto.INT64, [2], [1, 3 * columns])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, "model.onnx")
    net = onnx2tf.convert(
        input_onnx_file_path="model.onnx", output_folder_path="out", non_verbose=True, not_use_onnxsim=True,
        keep_shape_absolutely_input_names=["x"], disable_model_save=True,
    )
    x = np.arange(1, 1 + 3 * columns, dtype=np.float32).reshape(1, 3, columns)
    found = np.asarray(net(x))
    print(x.shape, "expected", x.ravel(), "found", found.ravel())
    wrong |= not np.array_equal(found, x.reshape(1, -1))
sys.exit(wrong)
