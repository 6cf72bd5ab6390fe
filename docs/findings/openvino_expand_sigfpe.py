"""OpenVINO 2026.4.1: Expand of a tensor without elements kills the process (SIGFPE).

Rule: ONNX Expand 13 broadcasts 'following the given shape and the broadcast rule'; a size of 1 becomes 2, one of 0 stays.
[0, 5] with the shape [5], which changes nothing, ends the same.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys

import numpy as np
import onnx
import openvino as ov
from onnx import helper as h

inputs = {"x": np.zeros((1, 0), np.float32)}
expected = np.zeros((2, 0), np.float32)
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
shape = onnx.numpy_helper.from_array(np.array([2, 0], np.int64), "shape")
node = h.make_node("Expand", ["x", "shape"], ["y"])
graph = h.make_graph(
    [node],
    "g",
    ports,
    [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)],
    [shape],
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
