"""onnx2tf 1.29.24: a five-dimensional Transpose in front of Split is lost, and the batch is split instead.

Rule: ONNX Transpose 13 permutes the axes as perm says; Split 13 splits along its axis.
That is how the TorchScript exporter writes the query, key and value of an attention; dynamo writes Slices in place of Split.
Such a transformer comes out wrong unless its sizes are fixed.
The shape of the Reshape is not a constant there, which is what it takes.
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
inputs = {"x": np.arange(384, dtype=np.float32).reshape(1, 16, 24), "shape": np.array([1, 16, 3, 4, 2], np.int64)}
expected = inputs["x"].reshape(1, 16, 3, 4, 2).transpose(2, 0, 3, 1, 4)[0]
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
one = onnx.numpy_helper.from_array(np.array([1, 1, 1], np.int64), "one")
zero = onnx.numpy_helper.from_array(np.array([0], np.int64), "zero")
nodes = [
    h.make_node("Reshape", ["x", "shape"], ["r"]),
    h.make_node("Transpose", ["r"], ["t"], perm=[2, 0, 3, 1, 4]),
    h.make_node("Split", ["t", "one"], ["q", "k", "v"], axis=0),
    h.make_node("Squeeze", ["q", "zero"], ["y"]),
]
graph = h.make_graph(
    nodes, "g", ports, [h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)], [one, zero]
)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
print("expected", expected.shape, expected.ravel()[:8].tolist())
try:
    net = onnx2tf.convert(
        input_onnx_file_path="m.onnx",
        output_folder_path="out",
        non_verbose=True,
        disable_model_save=True,
        keep_shape_absolutely_input_names=list(inputs),
    )
    y = np.asarray(net(list(inputs.values())))
except (Exception, SystemExit) as error:  # onnx2tf prints what is wrong and exits
    print("got     ", type(error).__name__, " ".join(str(error).split())[:160])
    sys.exit(1)
print("got     ", y.shape, y.ravel()[:8].tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
