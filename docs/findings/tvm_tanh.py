"""apache-tvm 0.27.0.post1 (arguable): Tanh and Atanh lose all digits near 0; tanh(1e-7) is 11 % off.

Rule: none binds: Tanh 13 and Atanh 22 name the functions and no specification states a bound. Measured against the rule
of docs/operators.md for transcendental functions in float32 (4 units in the last place; Tanh 5), as xnnpack_log.py is.
TVM computes tanh as (1 - exp(-2x)) / (1 + exp(-2x)) and atanh as (log(1 + x) - log(1 - x)) / 2: both subtract nearly
equal numbers.
Upstream: https://github.com/apache/tvm/issues/19562 tells the same of Erf.
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


x = np.array([1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1], np.float32)
worst = {}
for operator, exact, limit in (("Tanh", np.tanh, 5), ("Atanh", np.arctanh, 4)):
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"])], "g", [port("x", x)], [port("y", x)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    got, want = run(model, x)[0], exact(x.astype(np.float64))
    units = np.abs(got - want) / np.spacing(want.astype(np.float32))
    print(operator, "of 1e-07: expected %.9g" % want[1], "within %d units" % limit)
    print(operator, "of 1e-07: got      %.9g" % got[1], "; worst of all: %.3g units" % units.max())
    worst[operator] = units.max() > limit
sys.exit(1 if any(worst.values()) else 0)
