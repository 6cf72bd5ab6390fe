"""apache-tvm 0.27.0.post1: LayerNormalization's outputs Mean and InvStdDev are the scalar 0.

Rule: LayerNormalization 17, outputs 1 and 2: the mean and the inverse standard deviation that were used, with the rank
of X.
Upstream: https://github.com/apache/tvm/pull/10949 introduced such placeholders for a related operator.
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


x, scale = np.array([[1, 3], [5, 9]], np.float32), np.ones(2, np.float32)
mean = x.mean(1, keepdims=True)
node = helper.make_node("LayerNormalization", ["x", "s"], ["y", "mean"])
graph = helper.make_graph([node], "g", [port("x", x), port("s", scale)], [port("y", x), port("mean", mean)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
got = run(model, x, scale)[1]
print("expected", mean.tolist())
print("got     ", got.tolist())
sys.exit(0 if np.array_equal(got, mean) else 1)
