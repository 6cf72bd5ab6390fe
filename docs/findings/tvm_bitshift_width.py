"""apache-tvm 0.27.0.post1 (arguable): BitShift by the width or more, or by a negative amount, is the processor's.

Rule: BitShift 28: "If Y is negative, or is greater than or equal to the number of bits of T, then the result is ... -1
for a right shift on a negative X ... and 0 in every other case."
x86-64 takes the amount modulo 32: 1 << 33 is 2. BitShift 11 says nothing of such amounts, and no tool that does not know
opset 28 has to follow it.
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


x, amount = np.array([1, 1], np.int32), np.array([31, 33], np.int32)
node = helper.make_node("BitShift", ["x", "n"], ["y"], direction="LEFT")
graph = helper.make_graph([node], "g", [port("x", x), port("n", amount)], [port("y", x)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=10)
got = run(model, x, amount)[0].tolist()
print("expected", [-(2**31), 0])
print("got     ", got)
sys.exit(0 if got == [-(2**31), 0] else 1)
