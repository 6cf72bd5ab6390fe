"""apache-tvm 0.27.0.post1: a float that is computed from a shape becomes float64, and Mul refuses it.

Rule: Cast 13: the result has the type of the attribute to; Pow 13: that of its first input. Shape, Gather, Cast to
float32 and Pow give the Python number 0.25, which Mul meets as float64: "Binary operators must have the same datatype".
This is the attention scale that torch.onnx.export (TorchScript) writes, so no transformer of it compiles.
Upstream: none known.
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


x = np.ones((2, 16), np.float32)
nodes = [
    helper.make_node("Shape", ["x"], ["shape"]),
    helper.make_node("Gather", ["shape", "one"], ["size"], axis=0),
    helper.make_node("Cast", ["size"], ["wide"], to=TensorProto.FLOAT),
    helper.make_node("Pow", ["wide", "exponent"], ["scale"]),
    helper.make_node("Mul", ["x", "scale"], ["y"]),
]
held = [numpy_helper.from_array(np.array(1), "one"), numpy_helper.from_array(np.float32(-0.5), "exponent")]
graph = helper.make_graph(nodes, "g", [port("x", x)], [port("y", x)], held)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
try:
    got = float(run(model, x)[0][0, 0])
except Exception as error:  # of whatever type the frontend has
    got = f"{type(error).__name__}: {' '.join(str(error).split())[-160:]}"
print("expected", 0.25)
print("got     ", got)
sys.exit(0 if got == 0.25 else 1)
