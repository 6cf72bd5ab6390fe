"""apache-tvm 0.27.0.post1: an Add of tensors without elements, one of them a constant, does not compile.

Rule: Add 14 and ONNX's broadcasting: a dimension of 0 is legal, and the result has no elements. Message: "CodeGenVM
cannot emit this Relax operator directly" (a call to relax.add is left over). With two inputs the same Add compiles.
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


x = np.zeros(0, np.float32)
held = [numpy_helper.from_array(x, "c")]
graph = helper.make_graph([helper.make_node("Add", ["x", "c"], ["y"])], "g", [port("x", x)], [port("y", x)], held)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
try:
    got = run(model, x)[0].tolist()
except Exception as error:  # of whatever type the compiler has
    got = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
print("expected", [])
print("got     ", got)
sys.exit(0 if got == [] else 1)
