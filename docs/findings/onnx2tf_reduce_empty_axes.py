"""onnx2tf 1.29.24: ReduceSum with axes that are an empty constant: IndexError.

Rule: ONNX ReduceSum 13: 'when axes is empty (either not provided or explicitly empty)', it reduces over all axes unless
noop_with_empty_axes is set.
onnx2tf takes axes[0] of it. Where the empty tensor is an input of the graph, nothing is reduced, silently.
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
inputs = {"x": np.array([[1, 2], [3, 4]], np.float32)}
expected = np.array([[10]], np.float32)
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
axes = onnx.numpy_helper.from_array(np.array([], np.int64), "axes")
nodes = [h.make_node("ReduceSum", ["x", "axes"], ["y"])]
graph = h.make_graph(nodes, "g", ports, [h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)], [axes])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
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
    y = np.asarray(net(inputs["x"]))
except (Exception, SystemExit) as error:  # onnx2tf prints what is wrong and exits
    print("got     ", type(error).__name__, " ".join(str(error).split())[:160])
    sys.exit(1)
print("got     ", y.shape, y.ravel()[:8].tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
