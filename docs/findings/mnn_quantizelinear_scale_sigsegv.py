"""MNN 3.6.1: QuantizeLinear whose scale is an input of the graph kills the converter (SIGSEGV).

Rule: ONNX QuantizeLinear 13: y_scale and y_zero_point are inputs; nothing wants them constant.
The importer copies the values of the scale from a null pointer.
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

inputs = {"x": np.zeros(2, np.float32), "s": np.array(1, np.float32), "z": np.array(0, np.uint8)}
expected = np.zeros(2, np.uint8)
nodes = [h.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])]
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
output = h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)
graph = h.make_graph(nodes, "g", ports, [output])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=10)
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
