"""apache-tvm 0.27.0.post1: ConvTranspose ignores output_shape.

Rule: ConvTranspose 11, attribute output_shape: "The shape of the output can be explicitly set which will cause pads
values to be auto generated."
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


x, w = np.array([[[1, 2]]], np.float32), np.ones((1, 1, 3), np.float32)
expected = np.array([[[1, 3, 2]]], np.float32)  # of 1, 1, 3, 2, 2 the two pads are cut off
node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2], output_shape=[3])
graph = helper.make_graph([node], "g", [port("x", x), port("w", w)], [port("y", expected)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)
got = run(model, x, w)[0]
print("expected length", expected.shape[-1])
print("got      length", got.shape[-1], got.ravel().tolist())
sys.exit(0 if got.shape == expected.shape else 1)
