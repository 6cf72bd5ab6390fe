"""MNN 3.6.1: LSTM with constant weights and fewer than three outputs kills the converter (SIGSEGV).

Rule: ONNX LSTM 14: the outputs Y, Y_h and Y_c are optional, and those at the end may be left out.
SIGABRT as well, by chance. With three outputs, or with weights that are inputs, it converts.
Needs mnn==3.6.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import _tools  # the converter itself: the command mnnconvert installs packages when it starts (mnn_pip.py)
import numpy as np
import onnx
from onnx import helper as h

os.chdir(tempfile.mkdtemp())

inputs = {"x": np.zeros((2, 1, 1), np.float32)}
constants = [onnx.numpy_helper.from_array(np.ones((1, 4, 1), np.float32), name) for name in "wr"]
expected = np.zeros((2, 1, 1, 1), np.float32)
nodes = [h.make_node("LSTM", ["x", "w", "r"], ["y", "last"], hidden_size=1)]
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
output = h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)
graph = h.make_graph(nodes, "g", ports, [output], constants)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 14)], ir_version=10)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
pid = os.fork()  # a crash must not end the script
if not pid:
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
    os._exit(0)
status = os.waitpid(pid, 0)[1]
killed = os.WIFSIGNALED(status)
print("expected a converted file")
print("got     ", f"killed by signal {os.WTERMSIG(status)}" if killed else f"an end with status {status}")
sys.exit(int(killed))
