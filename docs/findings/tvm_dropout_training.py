"""apache-tvm 0.27.0.post1: Dropout never drops anything: its input training_mode is ignored.

Rule: Dropout 12 and 13, input training_mode: "If set to true then it indicates dropout is being used for training";
with a ratio of 0.9999999 of 64 ones at most a few survive, each scaled. (The mask is float32 too, where its type must
be bool.)
Upstream: none known.
Needs: pip install apache-tvm==0.27.0.post1 onnx numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
import tvm
from onnx import helper, numpy_helper
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


def run(model, *inputs):
    onnx.checker.check_model(model, full_check=True)
    machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
    found = machine["main"](*[tvm.runtime.tensor(x) for x in inputs])
    return [y.numpy() for y in ([found] if hasattr(found, "numpy") else found)]


def port(name, x):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)


x = np.ones(64, np.float32)
held = [numpy_helper.from_array(np.float32(0.9999999), "r"), numpy_helper.from_array(np.array(True), "t")]
graph = helper.make_graph(
    [helper.make_node("Dropout", ["x", "r", "t"], ["y"])], "g", [port("x", x)], [port("y", x)], held
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
got = run(model, x)[0]
print("expected", "nearly all of 64 elements 0")
print("got     ", int((got == 0).sum()), "elements 0")
sys.exit(0 if (got == 0).sum() > 50 else 1)
