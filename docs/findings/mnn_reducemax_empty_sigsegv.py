"""MNN 3.6.1: ReduceMax over an axis without elements kills the engine (SIGSEGV).

Rule: ONNX ReduceMax 20: 'Reduction over an empty set of values yields minus infinity'.
ReduceMin does the same.
Needs mnn==3.6.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import _tools  # the converter itself: the command mnnconvert installs packages when it starts (mnn_pip.py)
import MNN.expr as expressions
import MNN.nn as nn
import numpy as np
import onnx
from onnx import helper as h

os.chdir(tempfile.mkdtemp())

inputs = {"x": np.zeros((2, 0), np.float32)}
constants = [onnx.numpy_helper.from_array(np.array([1], np.int64), "axes")]
expected = np.full((2, 1), -np.inf, np.float32)
nodes = [h.make_node("ReduceMax", ["x", "axes"], ["y"])]
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
output = h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)
graph = h.make_graph(nodes, "g", ports, [output], constants)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=10)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
sys.stdout.flush()
pid = os.fork()  # a crash must not end the script
if not pid:
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
    module = nn.load_module_from_file("m.mnn", list(inputs), ["y"])
    given = []
    for x in inputs.values():
        given.append(expressions.placeholder(list(x.shape), expressions.NCHW, expressions.float))
        given[-1].write(x)
    found = module.forward(given)
    y = found[0] if isinstance(found, (list, tuple)) else found
    y = expressions.convert(y, expressions.NCHW).read()
    print("result  ", y.shape, y.ravel().tolist(), flush=True)
    os._exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
status = os.waitpid(pid, 0)[1]
print("expected", expected.shape, expected.ravel().tolist())
killed = os.WIFSIGNALED(status)
print("got     ", f"killed by signal {os.WTERMSIG(status)}" if killed else f"an end with status {status}")
sys.exit(int(status != 0))
