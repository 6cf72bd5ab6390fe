"""apache-tvm 0.27.0.post1: Sign of uint8 does not compile.

Rule: Sign 9 and 13: all numeric tensor types, unsigned ones included. Message: "cannot make uint from negative value
-1".
Upstream: none known.
Needs: pip install apache-tvm==0.27.0.post1 onnx numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
import tvm
from onnx import helper
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


def run(model, *inputs):
    onnx.checker.check_model(model, full_check=True)
    machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
    found = machine["main"](*[tvm.runtime.tensor(x) for x in inputs])
    return [y.numpy() for y in ([found] if hasattr(found, "numpy") else found)]


def port(name, x):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)


x = np.array([0, 2], np.uint8)
graph = helper.make_graph([helper.make_node("Sign", ["x"], ["y"])], "g", [port("x", x)], [port("y", x)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
try:
    got = run(model, x)[0].tolist()
except Exception as error:  # of whatever type the compiler has
    got = f"{type(error).__name__}: {' '.join(str(error).split())[-160:]}"
print("expected", [0, 1])
print("got     ", got)
sys.exit(0 if got == [0, 1] else 1)
