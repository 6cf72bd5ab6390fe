"""apache-tvm 0.27.0.post1: BatchNormalization of float16 gives float32, and the Conv behind it is refused.

Rule: BatchNormalization 9 and 14: Y has the type of X. mx2onnx leaves BatchNormalization in the file, so its fp16
networks fail.
Upstream: https://github.com/apache/tvm/issues/19977 is about mixed types of the same converter.
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


x, one = np.ones((1, 1, 2, 2), np.float16), np.ones(1, np.float16)
given = {"x": x, "s": one, "b": one, "m": one, "v": one, "w": np.ones((1, 1, 1, 1), np.float16)}
nodes = [
    helper.make_node("BatchNormalization", list("xsbmv"), ["n"], epsilon=0.0),
    helper.make_node("Conv", ["n", "w"], ["y"]),
]
graph = helper.make_graph(nodes, "g", [port(name, a) for name, a in given.items()], [port("y", x)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
try:
    got = str(run(model, *given.values())[0].dtype)
except Exception as error:  # of whatever type the frontend has
    got = f"{type(error).__name__}: {' '.join(str(error).split())[-200:]}"
print("expected", "float16")
print("got     ", got)
sys.exit(0 if got == "float16" else 1)
