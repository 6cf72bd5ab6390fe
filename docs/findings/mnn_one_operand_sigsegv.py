"""MNN 3.6.1: Max of one operand kills the converter (SIGSEGV).

Rule: ONNX Max 13 takes 1 to 2147483647 inputs. Min, Sum and Mean do the same.
The importer says 'Not support 1 input for Max op' and goes on.
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

inputs = {"x": np.array([1, 2], np.float32)}
expected = np.array([1, 2], np.float32)
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("Max", ["x"], ["y"])
graph = h.make_graph(
    [node], "g", ports, [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)]
)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "m.onnx")
sys.stdout.flush()
pid = os.fork()  # a crash must not end the script
if not pid:
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
    module = nn.load_module_from_file("m.mnn", list(inputs), ["y"])
    given = []
    for x in inputs.values():
        given.append(expressions.placeholder(list(x.shape), expressions.NCHW, expressions.float))
        given[-1].write(x)
    module.forward(given)
    os._exit(0)
status = os.waitpid(pid, 0)[1]
print("expected", expected.tolist())
print(
    "got     ", f"killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"an end with status {status}"
)
sys.exit(int(os.WIFSIGNALED(status)))
