"""OpenVINO 2026.4.1: Gather with no indices kills the process (SIGFPE).

Rule: ONNX Gather 13: the output has the rank q + (r - 1); with indices of shape [0] it has no rows.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys

import numpy as np
import onnx
import openvino as ov
from onnx import helper as h

inputs = {"x": np.ones((1, 1), bool), "i": np.zeros(0, np.int64)}
expected = np.zeros((0, 1), bool)
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("Gather", ["x", "i"], ["y"], axis=0)
graph = h.make_graph(
    [node], "g", ports, [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)]
)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
sys.stdout.flush()
pid = os.fork()  # a crash must not end the script
if not pid:
    core = ov.Core()
    core.compile_model(core.read_model(model.SerializeToString()), "CPU")(inputs)
    os._exit(0)
status = os.waitpid(pid, 0)[1]
print("expected", expected.shape, expected.tolist())
print(
    "got     ", f"killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"an end with status {status}"
)
sys.exit(int(os.WIFSIGNALED(status)))
