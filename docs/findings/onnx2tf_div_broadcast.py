"""onnx2tf 1.29.24: Div and Mod by a tensor that has size 1 in all dimensions but the first leave the axes in another order.

Rule: ONNX Div 14 and Mod 13: element by element with broadcasting; the axes stay where they are.
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
inputs = {"a": np.arange(1, 13, dtype=np.float32).reshape(2, 2, 3), "b": np.array([[[1]], [[2]]], np.float32)}
results = {"Div": inputs["a"] / inputs["b"], "Mod": np.fmod(inputs["a"], inputs["b"])}
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
wrong = False
for name, expected in results.items():
    nodes = [h.make_node(name, ["a", "b"], ["y"], **({"fmod": 1} if name == "Mod" else {}))]
    outputs = [h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)]
    graph = h.make_graph(nodes, "g", ports, outputs)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 14)], ir_version=8)
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
    print("expected", name, expected.dtype, expected.shape, expected.ravel()[:16].tolist())
    print("got     ", name, y.dtype, y.shape, y.ravel()[:16].tolist())
    wrong |= y.shape != expected.shape or not np.allclose(y, expected)
sys.exit(int(wrong))
