"""onnx2tf 1.29.24: the elements in front of a Reshape are permuted where sizes of the tensor happen to be equal.

Rule: ONNX Reshape 14 keeps the order of the elements.
Relu, then Reshape to one row: right for [1, 3, 5], wrong for [1, 3, 3]. onnx2tf tells layouts apart by comparing shapes,
and these are the same both ways; Gather and Concat in front do the same.
Upstream: https://github.com/PINTO0309/onnx2tf/issues/478 (closed, the same cause)
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
inputs = {"x": np.arange(1, 10, dtype=np.float32).reshape(1, 3, 3)}
expected = np.arange(1, 10, dtype=np.float32).reshape(1, 9)
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
shape = onnx.numpy_helper.from_array(np.array([1, 9], np.int64), "shape")
nodes = [h.make_node("Relu", ["x"], ["r"]), h.make_node("Reshape", ["r", "shape"], ["y"])]
graph = h.make_graph(nodes, "g", ports, [h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)], [shape])
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
