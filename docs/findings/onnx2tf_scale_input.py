"""onnx2tf 1.29.24: InstanceNormalization and GroupNormalization with scale and bias as inputs of the graph: ValueError.

Rule: ONNX InstanceNormalization 6 and GroupNormalization 21: scale and bias are inputs; nothing wants them constant.
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
inputs = {
    "x": np.array([[[1, 3, 1, 3], [1, 3, 1, 3], [2, 6, 2, 6], [2, 6, 2, 6]]], np.float32).reshape(1, 4, 2, 2),
    "scale": np.array([1, 1, 2, 2], np.float32),
    "bias": np.array([0, 0, 1, 1], np.float32),
}
expected = np.array([[-1, 1, -1, 1], [-1, 1, -1, 1], [-1, 3, -1, 3], [-1, 3, -1, 3]], np.float32).reshape(1, 4, 2, 2)
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
outputs = [h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)]
wrong = False
for name, more in {"InstanceNormalization": {}, "GroupNormalization": {"num_groups": 2}}.items():
    nodes = [h.make_node(name, list(inputs), ["y"], epsilon=1e-9, **more)]
    graph = h.make_graph(nodes, "g", ports, outputs)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    print("expected", name, expected.shape, expected.ravel().tolist())
    try:
        net = onnx2tf.convert(
            input_onnx_file_path="m.onnx",
            output_folder_path="out",
            non_verbose=True,
            disable_model_save=True,
            keep_ncw_or_nchw_or_ncdhw_input_names=["x"],
        )
        y = np.moveaxis(np.asarray(net(list(inputs.values()))), -1, 1)  # onnx2tf gives channels last
        print("got     ", name, y.shape, y.ravel().tolist())
        wrong |= y.shape != expected.shape or not np.allclose(y, expected, atol=1e-3)
    except (Exception, SystemExit) as error:  # onnx2tf prints what is wrong and exits
        print("got     ", name, type(error).__name__, " ".join(str(error).split())[:160])
        wrong = True
sys.exit(int(wrong))
