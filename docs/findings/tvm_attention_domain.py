"""apache-tvm 0.27.0.post1: Attention of ONNX is converted as com.microsoft's operator of the same name.

Rule: an operator is named by domain and name (onnx.proto, NodeProto.domain). Attention 23 of ai.onnx has the inputs Q,
K, V and no attribute num_heads. The frontend looks names up without their domain, and asks for num_heads.
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


x = np.ones((1, 1, 2, 2), np.float32)
graph = helper.make_graph(
    [helper.make_node("Attention", list("qkv"), ["y"])], "g", [port(n, x) for n in "qkv"], [port("y", x)]
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
try:
    got = run(model, x, x, x)[0].tolist()
except Exception as error:  # of whatever type the converter has
    got = f"{type(error).__name__}: {str(error)[:160]}"
print("expected", x.tolist())
print("got     ", got)
sys.exit(0 if got == x.tolist() else 1)
