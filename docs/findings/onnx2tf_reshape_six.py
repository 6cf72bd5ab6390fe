"""onnx2tf 1.29.24: a Reshape to six dimensions of which some are equal gets its sizes in another order.

Rule: ONNX Reshape 14: the result has the sizes of shape, in their order; Transpose 13 permutes the axes as perm says.
It is (1, 2, 2, 3, 2, 2), in the order of TensorFlow's layout. SpaceToDepth with mode CRD written out is such a graph.
Different sizes, as (1, 2, 3, 4, 5, 2) of (1, 2, 12, 10), are right.
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
inputs = {"x": np.arange(48, dtype=np.float32).reshape(1, 2, 4, 6)}
expected = inputs["x"].reshape(1, 2, 2, 2, 3, 2).transpose(0, 1, 3, 5, 2, 4).reshape(1, 8, 2, 3)
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
constants = [
    onnx.numpy_helper.from_array(np.array([1, 2, 2, 2, 3, 2], np.int64), "six"),
    onnx.numpy_helper.from_array(np.array([1, 8, 2, 3], np.int64), "four"),
]
nodes = [
    h.make_node("Reshape", ["x", "six"], ["r"]),
    h.make_node("Transpose", ["r"], ["t"], perm=[0, 1, 3, 5, 2, 4]),
    h.make_node("Reshape", ["t", "four"], ["y"]),
]
outputs = [h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)]
graph = h.make_graph(nodes, "g", ports, outputs, constants)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
net = onnx2tf.convert(
    input_onnx_file_path="m.onnx",
    output_folder_path="out",
    non_verbose=True,
    disable_model_save=True,
    keep_shape_absolutely_input_names=["x"],
)
y = np.asarray(net(inputs["x"]))
y = np.moveaxis(y, -1, 1) if y.shape == (1, 2, 3, 8) else y  # onnx2tf gives channels last
print("expected", expected.dtype, expected.shape, expected.ravel()[:16].tolist())
print("got     ", y.dtype, y.shape, y.ravel()[:16].tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
