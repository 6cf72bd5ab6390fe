"""IREE 3.13.0: Neg of int32 and int64 is computed in float32, which loses the digits of numbers above 2 ** 24.

Rule: ONNX Neg 13 is y = -x and has int32 and int64 among its types: -16777217 is the result of 16777217.
The result is that of a conversion to float32 and back: 2 ** 63 - 1 and its negative both give -2 ** 63.
Upstream: none known.
Needs iree-base-compiler==3.13.0 and iree-base-runtime==3.13.0, onnx and numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
from iree import runtime
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

HOST = ["--iree-llvmcpu-target-cpu=host"]
x = np.array([5, 16777217, -(2**63) + 1])
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (int64[3] x) => (int64[3] y) { y = Neg(x) }')
onnx.checker.check_model(model, full_check=True)
with ir.Context() as context:
    info = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(model))
    module = info.create_module(context=context).operation
    onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
    code = tools.compile_str(str(module), target_backends=["llvm-cpu"], input_type="onnx", extra_args=HOST)
got = runtime.load_vm_flatbuffer(code, driver="local-sync")["g"](x).to_host().tolist()
print("expected", (-x).tolist())
print("got     ", got)
sys.exit(int(got != (-x).tolist()))
