"""IREE 3.13.0: ConvTranspose with one input channel in each group does not compile.

Rule: ONNX ConvTranspose 1, 11 and 22, attribute group: here two groups of one input and one output channel each.
The lowering collapses the weights, which it expanded to five dimensions, by a map of four.
Upstream: https://github.com/llvm/torch-mlir/pull/4621 is about this message and mends it (open).
Needs iree-base-compiler==3.13.0 and iree-base-runtime==3.13.0, onnx and numpy.
Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
from iree import runtime
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

TEXT = """<ir_version: 8, opset_import: ["": 11]>
g (float[1,2,1,1] x, float[2,1,1,2] w) => (float[1,2,1,2] y) { y = ConvTranspose<group = 2>(x, w) }"""


def run(text, *inputs):
    """What the compiled model gives for inputs."""
    model = onnx.parser.parse_model(text)
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


x, w = np.array([1, 2], np.float32).reshape(1, 2, 1, 1), np.array([1, 2, 3, 4], np.float32).reshape(2, 1, 1, 2)
expected = [1.0, 2.0, 6.0, 8.0]
try:
    got = run(TEXT, x, w).ravel().tolist()
except tools.CompilerToolError as error:
    got = str(error).partition("error: ")[2].splitlines()[0]
print("expected", expected)
print("got     ", got)
sys.exit(int(got != expected))
