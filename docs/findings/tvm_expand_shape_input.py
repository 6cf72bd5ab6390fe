"""apache-tvm 0.27.0.post1: Expand to a shape that is an input of the graph crops the data.

Rule: Expand 13: "similar to numpy.array(input) * numpy.ones(shape)", so a dimension of 1 in the shape keeps the
input's. The frontend takes the shape for the result's: [3, 1] expanded to [2, 1, 6] should be [2, 3, 6] and is [2, 1,
6], the first row. As a constant the same shape is right.
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


x, shape = np.array([[1], [2], [3]], np.float32), np.array([2, 1, 6])
expected = x * np.ones(shape, np.float32)
node = helper.make_node("Expand", ["x", "s"], ["y"])
graph = helper.make_graph([node], "g", [port("x", x), port("s", shape)], [port("y", expected)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
got = run(model, x, shape)[0]
print("expected shape", list(expected.shape))
print("got      shape", list(got.shape))
sys.exit(0 if got.shape == expected.shape and np.array_equal(got, expected) else 1)
