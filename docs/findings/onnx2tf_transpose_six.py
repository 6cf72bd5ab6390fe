"""onnx2tf 1.29.24: a Transpose of six dimensions behind a Reshape with a computed shape gives another order.

Rule: ONNX Transpose 13 permutes the axes as perm says.
With the shape as a constant it is right. DepthToSpace and SpaceToDepth written out are such a graph.
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
inputs = {"x": np.arange(240, dtype=np.float32).reshape(1, 6, 4, 10), "shape": np.array([1, 2, 3, 4, 5, 2], np.int64)}
expected = inputs["x"].reshape(1, 2, 3, 4, 5, 2).transpose(0, 3, 4, 1, 5, 2).reshape(1, 240)
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
constants = [onnx.numpy_helper.from_array(np.array([1, 240], np.int64), "flat")]
nodes = [
    h.make_node("Reshape", ["x", "shape"], ["r"]),
    h.make_node("Transpose", ["r"], ["t"], perm=[0, 3, 4, 1, 5, 2]),
    h.make_node("Reshape", ["t", "flat"], ["y"]),
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
    keep_shape_absolutely_input_names=list(inputs),
)
y = np.asarray(net(list(inputs.values())))
print("expected", expected.dtype, expected.shape, expected.ravel()[:16].tolist())
print("got     ", y.dtype, y.shape, y.ravel()[:16].tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
