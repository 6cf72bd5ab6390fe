"""onnx2tf 1.29.24: BitShift by a negative amount is cut to a shift by 0.

Rule: ONNX BitShift 28: 'If Y is negative, or is greater than or equal to the number of bits of T, then the result is
whatever the sign bit extension alone produces: -1 for a right shift on a negative X'.
onnx2tf hands the amount on to TensorFlow, which cuts it to what the type has.
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
inputs = {"x": np.array([-8, 4, -1], np.int32), "s": np.array([-1, -32, -64], np.int32)}
expected = np.array([-1, 0, -1], np.int32)
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
nodes = [h.make_node("BitShift", ["x", "s"], ["y"], direction="RIGHT")]
outputs = [h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)]
graph = h.make_graph(nodes, "g", ports, outputs)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 28)])
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
