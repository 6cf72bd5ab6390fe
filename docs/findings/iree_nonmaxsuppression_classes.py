"""IREE 3.13.0: NonMaxSuppression of two classes or of two batches does not compile.

Rule: ONNX NonMaxSuppression 10 and 11: scores are [batches, classes, boxes], and each class of each batch is selected
by itself. The lowering makes something that the compiler's own verifier refuses.
Upstream: https://github.com/llvm/torch-mlir/pull/3871 left it to be done, and
https://github.com/llvm/torch-mlir/pull/3999 would do it (open).
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
g (float[B,6,4] b, float[B,C,6] s, int64[1] n, float[1] i) => (int64[2,3] y) { y = NonMaxSuppression(b, s, n, i) }"""


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


wrong = False
for batches, classes, expected in ((1, 2, [[0, 0, 0], [0, 1, 0]]), (2, 1, [[0, 0, 0], [1, 0, 0]])):
    boxes = np.tile(np.array([0, 0, 1, 1], np.float32), (batches, 6, 1))
    inputs = boxes, np.ones((batches, classes, 6), np.float32), np.array([1]), np.array([0.5], np.float32)
    try:
        got = run(TEXT.replace("B", str(batches)).replace("C", str(classes)), *inputs).tolist()
    except (tools.CompilerToolError, RuntimeError) as error:
        got = str(error).partition("error: ")[2].splitlines()[0]
    print("expected", expected)
    print("got     ", got)
    wrong |= got != expected
sys.exit(int(wrong))
