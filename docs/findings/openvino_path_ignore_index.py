"""OpenVINO 2026.4.1: a loss with ignore_index is read from memory and refused from a file.

Rule: ONNX NegativeLogLikelihoodLoss 13 has the attribute ignore_index; the same bytes are the same model.
core.read_model(bytes) takes it, core.read_model(path) ends with 'get_attribute is not implemented for this FrontEnd
class'. 25 of onnx's own cases.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
import openvino as ov
from onnx import helper as h

inputs = {"p": np.array([[1, 1], [1, 1]], np.float32), "t": np.array([0, 1], np.int64)}
expected = np.array(-1, np.float32)
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("NegativeLogLikelihoodLoss", ["p", "t"], ["y"], reduction="mean", ignore_index=1)
graph = h.make_graph(
    [node], "g", ports, [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)]
)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
print("expected", expected.shape, expected.ravel().tolist())
path = os.path.join(tempfile.mkdtemp(), "m.onnx")
onnx.save(model, path)
try:
    y = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(inputs)[0]
except RuntimeError as error:
    print("got      RuntimeError:", str(error).strip().splitlines()[-1].strip()[:160])
    sys.exit(1)
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
