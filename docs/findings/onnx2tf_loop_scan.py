"""onnx2tf 1.29.24: a Loop with a scan output is refused, since its TensorArray is not built inside a Keras layer.

Rule: ONNX Loop 11: the body may have scan outputs, whose values of all iterations are joined to one output.
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
x = np.array([1], np.float32)
expected = np.array([[2], [3], [4]], np.float32)
f, b, value = onnx.TensorProto.FLOAT, onnx.TensorProto.BOOL, h.make_tensor_value_info
one = onnx.numpy_helper.from_array(np.array([1], np.float32), "one")
steps = [
    h.make_node("Identity", ["go_in"], ["go_out"]),
    h.make_node("Add", ["sum_in", "one"], ["sum_out"]),
    h.make_node("Identity", ["sum_out"], ["scan"]),
]
starts = [value("step", onnx.TensorProto.INT64, []), value("go_in", b, []), value("sum_in", f, [1])]
ends = [value("go_out", b, []), value("sum_out", f, [1]), value("scan", f, [1])]
body = h.make_graph(steps, "body", starts, ends, [one])
nodes = [h.make_node("Loop", ["count", "go", "x"], ["last", "y"], body=body)]
count = onnx.numpy_helper.from_array(np.array(3, np.int64), "count")
go = onnx.numpy_helper.from_array(np.array(True), "go")
outputs = [value("last", f, [1]), value("y", f, [3, 1])]
graph = h.make_graph(nodes, "g", [value("x", f, [1])], outputs, [count, go])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 11)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
print("expected", expected.shape, expected.ravel().tolist())
try:
    net = onnx2tf.convert("m.onnx", output_folder_path="out", non_verbose=True, disable_model_save=True)
    y = np.asarray(net(x)[1])
except (Exception, SystemExit) as error:  # onnx2tf prints what is wrong and exits
    said = " ".join(str(error).split())
    print("got     ", type(error).__name__, (said.partition("NotImplementedError: ")[2] or said)[:160])
    sys.exit(1)
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
