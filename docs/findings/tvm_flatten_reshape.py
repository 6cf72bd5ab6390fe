"""apache-tvm 0.27.0.post1: Reshape refuses a shape that Slice, Concat and Cast make of constants and a shape.

Rule: Reshape 14: the shape is any int64 tensor. tf2onnx writes Flatten so: Shape, Cast, Slice, Concat with -1, Cast,
Reshape.
Upstream: https://github.com/apache/tvm/issues/20174 (a shape of run time).
Needs: pip install apache-tvm==0.27.0.post1 onnx numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
import tvm
from onnx import TensorProto, helper, numpy_helper
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


def run(model, *inputs):
    onnx.checker.check_model(model, full_check=True)
    machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
    found = machine["main"](*[tvm.runtime.tensor(x) for x in inputs])
    return [y.numpy() for y in ([found] if hasattr(found, "numpy") else found)]


def port(name, x):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)


x = np.zeros((2, 3, 4), np.float32)
nodes = [
    helper.make_node("Shape", ["x"], ["shape"]),
    helper.make_node("Cast", ["shape"], ["narrow"], to=TensorProto.INT32),
    helper.make_node("Slice", ["narrow", "zero", "one", "zero"], ["first"]),
    helper.make_node("Concat", ["first", "rest"], ["both"], axis=0),
    helper.make_node("Cast", ["both"], ["target"], to=TensorProto.INT64),
    helper.make_node("Reshape", ["x", "target"], ["y"]),
]
held = [numpy_helper.from_array(np.array([n]), name) for n, name in ((0, "zero"), (1, "one"))]
held.append(numpy_helper.from_array(np.array([-1], np.int32), "rest"))
graph = helper.make_graph(nodes, "g", [port("x", x)], [port("y", x.reshape(2, 12))], held)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
try:
    got = list(run(model, x)[0].shape)
except Exception as error:  # of whatever type the frontend has
    got = f"{type(error).__name__}: {' '.join(str(error).split())[-160:]}"
print("expected", [2, 12])
print("got     ", got)
sys.exit(0 if got == [2, 12] else 1)
