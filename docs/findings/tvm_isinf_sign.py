"""apache-tvm 0.27.0.post1: IsInf ignores detect_negative and detect_positive.

Rule: IsInf 10 and 20, attribute detect_negative: 0 maps negative infinity to false.
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


x = np.array([-np.inf, np.inf, 1], np.float32)
expected = np.array([False, True, False])
graph = helper.make_graph(
    [helper.make_node("IsInf", ["x"], ["y"], detect_negative=0)], "g", [port("x", x)], [port("y", expected)]
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
got = run(model, x)[0]
print("expected", expected.tolist())
print("got     ", got.tolist())
sys.exit(0 if np.array_equal(got, expected) else 1)
