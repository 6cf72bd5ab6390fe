"""apache-tvm 0.27.0.post1: Cast to float8 of a number beyond its range is any other number.

Rule: Cast 23, the table of rules for saturate = 1, its default: "[x] > FLT_MAX" becomes FLT_MAX, 448 in E4M3FN and the
code 126. TVM gives another code, whose value is far away and may have the other sign.
Upstream: none known.
Needs: pip install apache-tvm==0.27.0.post1 onnx numpy ml_dtypes. Exits with 1 while the defect shows.
"""

import sys

import ml_dtypes
import numpy as np
import onnx
import tvm
from onnx import TensorProto, helper
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


def cast(x, before, after):
    ports = [helper.make_tensor_value_info(name, kind, x.shape) for name, kind in (("x", before), ("y", after))]
    graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=after)], "g", ports[:1], ports[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
    return machine["main"](tvm.runtime.tensor(x)).numpy()


x = np.array([3.0, 1000000.0], np.float32)
expected = np.array([3.0, 448.0], ml_dtypes.float8_e4m3fn).view(np.uint8)
got = cast(x, TensorProto.FLOAT, TensorProto.FLOAT8E4M3FN).view(np.uint8)
print("expected", expected.tolist())
print("got     ", got.tolist())
sys.exit(0 if got.tolist() == expected.tolist() else 1)
