"""IREE 3.13.0: the compiler dies (SIGFPE) of MatMul and Gemm with an inner dimension of 0.

Rule: ONNX MatMul 13 behaves like numpy.matmul, and Gemm 13 is A' * B': a sum over nothing is 0.
Gemm ends the same, whether its operands are transposed or not.
Upstream: none known.
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


a, b = np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32)
try:
    got = run("g (float[2,0] a, float[0,3] b) => (float[2,3] y) { y = MatMul(a, b) }", a, b).tolist()
except tools.CompilerToolError as error:
    got = " ".join(str(error).split())[:64]
print("expected", [[0.0] * 3] * 2)
print("got     ", got)
sys.exit(int(got != [[0.0] * 3] * 2))
