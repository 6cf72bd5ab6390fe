"""Apache TVM 0.27.0.post1 (relax ONNX frontend, llvm): Tanh and Atanh lose all digits near 0.

ONNX's Tanh 13 and Atanh 9 are the hyperbolic tangent and its inverse, for which tanh(x) and atanh(x) are x to the last
bit of float32 below 1e-4. TVM computes tanh as (1 - exp(-2x)) / (1 + exp(-2x)) and atanh as log((1 + x) / (1 - x)) / 2 in
float32: both subtract nearly equal numbers. Measured: tanh(1e-7) is 8.94e-08 (11 % off), tanh(1.2e-8) is 0; atanh(1e-7)
is 1.19e-07 (19 % off). Over [-0.1, 0.1] a quarter of all elements is more than 4 ULP off. Sinh, Asinh, Atan and Erf of
the same module are within 2 ULP there. Nothing fails, and the absolute error stays below 1e-7, so only small activations
(and what divides by them) notice.
Versions: apache-tvm 0.27.0.post1, onnx 1.23.2. Prints a table; ends with 1 when the defect shows.
"""
import sys

import numpy as np
import onnx
import tvm
from onnx import TensorProto as T, helper as h
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


def run(operator, x):
    ports = [h.make_tensor_value_info(name, T.FLOAT, x.shape) for name in "xy"]
    graph = h.make_graph([h.make_node(operator, ["x"], ["y"])], "g", ports[:1], ports[1:])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
    return machine["main"](tvm.runtime.tensor(x)).numpy()


x = np.array([1.2e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1], np.float32)
worst = 0.0
for operator, exact in (("Tanh", np.tanh), ("Atanh", np.arctanh), ("Sinh", np.sinh), ("Asinh", np.arcsinh)):
    got, want = run(operator, x), exact(x.astype(np.float64))
    ulps = np.abs(got - want) / np.spacing(want.astype(np.float32))
    for row in zip(x, got, want, ulps):
        print("%-5s of %.3g is %.9g, right is %.9g: %.3g ULP" % (operator, *row))
    if "Tanh" in operator or "Atanh" in operator:
        worst = max(worst, ulps.max())
print("worst: %.3g ULP" % worst)
sys.exit(int(worst > 100))
