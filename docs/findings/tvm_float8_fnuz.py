"""apache-tvm 0.27.0.post1: Cast from float8e4m3fnuz reads its codes as those of float8e4m3fn.

Rule: Cast 23 and "Float stored in 8 bits" of ONNX's technical details: the bias of the exponent is 8 in E4M3FNUZ and 7 in
E4M3FN, so that the code 0x30 is 0.25 in the one and 0.5 in the other.
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


x = np.array([0.25, 3.0], ml_dtypes.float8_e4m3fnuz)
expected, got = x.astype(np.float32), cast(x, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT)
print("expected", expected.tolist())
print("got     ", got.tolist())
sys.exit(0 if got.tolist() == expected.tolist() else 1)
