"""IREE 3.13.0: MatMulInteger without zero points reads uint8 as int8: 255 counts as -1.

Rule: ONNX MatMulInteger 10 takes tensor(uint8): "Matrix product that behaves like numpy.matmul", and the zero points are
optional, 0 by default. With zero points it is right.
Upstream: https://github.com/iree-org/iree/issues/24583 told the same of zero points (open).
Needs iree-base-compiler==3.13.0 and iree-base-runtime==3.13.0, onnx and numpy.
Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
from iree import runtime
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer


def run(text, *inputs):
    """What IREE gives for a graph in text."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
    onnx.checker.check_model(model, full_check=True)
    with ir.Context() as context:
        info = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(model))
        module = info.create_module(context=context).operation
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
        text = str(module)
    code = tools.compile_str(
        text, target_backends=["llvm-cpu"], input_type="onnx", extra_args=["--iree-llvmcpu-target-cpu=host"]
    )
    return runtime.load_vm_flatbuffer(code, driver="local-sync")["g"](*inputs).to_host()


a, b = np.array([[2, 1]], np.uint8), np.array([[3], [255]], np.uint8)
got = run("g (uint8[1,2] a, uint8[2,1] b) => (int32[1,1] y) { y = MatMulInteger(a, b) }", a, b)
print("expected", [[261]])
print("got     ", got.tolist())
sys.exit(int(got.tolist() != [[261]]))
