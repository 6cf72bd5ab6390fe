"""OpenVINO 2026.4.1: an input that is the output as it is loses its name.

Rule: ONNX IR specification, section Graphs: the main graph defines the names of its inputs and outputs.
Max of one tensor is taken out, and from then on the compiled model knows its input as 'y' only: calling it with 'x' raises,
and who looks names up and finds none reads memory that nobody wrote. Dropout does the same.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
import openvino as ov
from onnx import helper as h

inputs = {"x": np.array([3, 2, 1], np.float32)}
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("Max", ["x"], ["y"])
graph = h.make_graph([node], "g", ports, [h.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [3])])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
path = os.path.join(tempfile.mkdtemp(), "m.onnx")
onnx.save(model, path)
compiled = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
found = [sorted(port.get_names()) for port in compiled.inputs]
print("expected", [["x"]])
print("got     ", found)
sys.exit(int("x" not in found[0]))
