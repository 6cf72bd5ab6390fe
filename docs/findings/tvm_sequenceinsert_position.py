"""apache-tvm 0.27.0.post1: SequenceInsert at position -1 appends.

Rule: SequenceInsert 11: "Negative value means counting positions from the back", as list.insert has it: -1 is before
the last element.
Upstream: none known.
Needs: pip install apache-tvm==0.27.0.post1 onnx numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
import tvm
from onnx import helper, numpy_helper
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


def run(model, *inputs):
    onnx.checker.check_model(model, full_check=True)
    machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
    found = machine["main"](*[tvm.runtime.tensor(x) for x in inputs])
    return [y.numpy() for y in ([found] if hasattr(found, "numpy") else found)]


def port(name, x):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)


a, b, c = (np.array([n], np.float32) for n in (1, 2, 3))
expected = np.array([1, 3, 2], np.float32)
nodes = [
    helper.make_node("SequenceConstruct", ["a", "b"], ["q"]),
    helper.make_node("SequenceInsert", ["q", "c", "p"], ["r"]),
    helper.make_node("ConcatFromSequence", ["r"], ["y"], axis=0),
]
held = [numpy_helper.from_array(np.array(-1), "p")]
graph = helper.make_graph(nodes, "g", [port(name, x) for name, x in zip("abc", (a, b, c))], [port("y", expected)], held)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
got = run(model, a, b, c)[0]
print("expected", expected.tolist())
print("got     ", got.tolist())
sys.exit(0 if np.array_equal(got, expected) else 1)
