"""onnx2tf 1.29.24: attributes of MaxPool, ScatterElements and ReduceSum that it refuses (not supported).

Rule: ONNX MaxPool 12 has storage_order, and strides and dilations in any number of dimensions; ScatterElements 18 has
the reductions add, mul, max and min; ReduceSum 13 with noop_with_empty_axes and without axes gives its input.
Needs onnx2tf==1.29.24 with its dependencies (tensorflow-cpu==2.21.0), onnx and numpy.
Ends with 1 while one of them is refused, with 0 when none is.
"""

import contextlib
import io
import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import onnx
import onnx2tf
from onnx import helper as h

os.chdir(tempfile.mkdtemp())
window = {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2], "dilations": [2, 2, 2]}
nodes = {
    "MaxPool, 3-D with strides and dilations": h.make_node("MaxPool", ["volume"], ["y"], **window),
    "MaxPool, storage_order": h.make_node("MaxPool", ["image"], ["y", "z"], kernel_shape=[2, 2], storage_order=1),
}
for way in ("add", "mul", "max", "min"):
    node = h.make_node("ScatterElements", ["row", "indices", "updates"], ["y"], axis=1, reduction=way)
    nodes[f"ScatterElements, reduction {way}"] = node
nodes["ReduceSum, noop_with_empty_axes"] = h.make_node("ReduceSum", ["row"], ["y"], noop_with_empty_axes=1)
shapes = {"volume": [1, 1, 5, 5, 5], "image": [1, 1, 4, 4], "row": [1, 5]}
indices = onnx.numpy_helper.from_array(np.array([[1, 1]], np.int64), "indices")
updates = onnx.numpy_helper.from_array(np.array([[2, 3]], np.float32), "updates")
wrong = False
for name, node in nodes.items():
    x = h.make_tensor_value_info(node.input[0], onnx.TensorProto.FLOAT, shapes[node.input[0]])
    types = zip(node.output, (onnx.TensorProto.FLOAT, onnx.TensorProto.INT64), strict=False)
    outputs = [h.make_tensor_value_info(output, kind, None) for output, kind in types]
    graph = h.make_graph([node], "g", [x], outputs, [indices, updates][: 2 * (len(node.input) - 1)])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=8), "m.onnx")
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            onnx2tf.convert("m.onnx", output_folder_path="out", non_verbose=True, disable_model_save=True)
    except (Exception, SystemExit) as error:  # onnx2tf prints what is wrong and exits
        lines = [line for line in said.getvalue().splitlines() if "support" in line or "implemented" in line]
        print(f"expected {name}: converted\ngot      {name}:", (lines or [repr(error)])[0].split("\x1b[0m")[-1].strip())
        wrong = True
sys.exit(int(wrong))
