"""apache-tvm 0.27.0.post1 (arguable): a float16 MatMul sums in float16: 4,096 ones give 2,048.

Rule: none binds: MatMul 13 leaves the accumulator open. onnxruntime and IREE sum in float32: a small network of digits
in float16 is 7.3e-3 off in TVM and 9.2e-4 in IREE (docs/equivalence-tvm.md, docs/equivalence-iree.md of this project).
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


a, b = np.ones((1, 4096), np.float16), np.ones((4096, 1), np.float16)
graph = helper.make_graph(
    [helper.make_node("MatMul", ["a", "b"], ["y"])], "g", [port("a", a), port("b", b)], [port("y", a[:, :1])]
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
got = float(run(model, a, b)[0][0, 0])
print("expected", 4096.0)
print("got     ", got)
sys.exit(0 if got == 4096 else 1)
