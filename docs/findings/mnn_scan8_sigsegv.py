"""MNN 3.6.1: Scan of opset 8 whose sequence_lens is left out kills the converter (SIGSEGV).

Rule: ONNX Scan 8: sequence_lens is an 'Optional tensor specifying lengths of the sequences in a batch'.
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

inputs = {"i": np.zeros((1, 1), np.float32), "x": np.ones((1, 3, 1), np.float32)}
expected = np.array([[3]], np.float32)
of = [h.make_tensor_value_info(k, 1, [1]) for k in ("before", "next", "after", "each")]
body = [h.make_node("Add", ["before", "next"], ["after"]), h.make_node("Identity", ["after"], ["each"])]
body = h.make_graph(body, "body", of[:2], of[2:])
nodes = [h.make_node("Scan", ["", "i", "x"], ["y", "z"], num_scan_inputs=1, body=body)]
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
output = h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)
graph = h.make_graph(nodes, "g", ports, [output])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 8)], ir_version=10)
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
