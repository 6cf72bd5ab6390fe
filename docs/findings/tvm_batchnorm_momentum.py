"""apache-tvm 0.27.0.post1: BatchNormalization in training swaps the weights of old and new statistics.

Rule: BatchNormalization 15: "running_mean = input_mean * momentum + current_mean * (1 - momentum)", likewise the
variance. TVM computes input_mean * (1 - momentum) + current_mean * momentum.
Upstream: https://github.com/apache/tvm/pull/18704 passed ONNX's momentum on, where relax means its complement.
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


x, one, ten = np.full((2, 1, 1, 1), 4, np.float32), np.ones(1, np.float32), np.full(1, 10, np.float32)
given = {"x": x, "s": one, "b": one, "m": ten, "v": one}
node = helper.make_node("BatchNormalization", list(given), ["y", "mean", "var"], training_mode=1, momentum=0.9)
graph = helper.make_graph(
    [node], "g", [port(name, a) for name, a in given.items()], [port("y", x), port("mean", one), port("var", one)]
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)
got = float(run(model, *given.values())[1][0])
print("expected", 10 * 0.9 + 4 * 0.1)
print("got     ", got)
sys.exit(0 if np.isclose(got, 9.4) else 1)
