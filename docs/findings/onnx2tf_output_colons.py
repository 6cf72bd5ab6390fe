"""onnx2tf 1.29.24: an output whose name has "::" is lost.

Rule: ONNX IR, names of values are identifiers without a meaning of their own; the model has two outputs.
PyTorch's exporter names a result of a scripted module so (/Relu::out). Named "y", the same output is there.
Upstream: none known.
Needs onnx2tf==1.29.24 with its dependencies (tensorflow-cpu==2.21.0) and onnx. Ends with 1 while the defect shows.
"""

import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import onnx
import onnx2tf
from onnx import helper as h

os.chdir(tempfile.mkdtemp())


def outputs(name):
    """How many outputs onnx2tf's model of Relu and Abs has, where the result of Relu has this name."""
    ports = {key: h.make_tensor_value_info(key, onnx.TensorProto.FLOAT, [1, 4]) for key in ("x", name, "z")}
    nodes = [h.make_node("Relu", ["x"], [name]), h.make_node("Abs", [name], ["z"])]
    graph = h.make_graph(nodes, "g", [ports["x"]], [ports[name], ports["z"]])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    net = onnx2tf.convert(
        input_onnx_file_path="m.onnx", output_folder_path="out", non_verbose=True, disable_model_save=True
    )
    return len(net.outputs)


assert outputs("y") == 2
found = outputs("net::y")
print("expected", 2)
print("got     ", found)
sys.exit(int(found != 2))
