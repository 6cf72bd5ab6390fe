"""IREE 3.13.0: NonMaxSuppression stops where score_threshold is above the lowest score, which is what it is for.

Rule: ONNX NonMaxSuppression 10 and 11, score_threshold: "threshold for deciding when to remove boxes based on score".
Message: "unimplemented: score_threshold should be <= min(scores)".
Upstream: https://github.com/llvm/torch-mlir/pull/3501 brought the lowering with this limit.
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
g (float[1,2,4] b, float[1,1,2] s, int64[1] n, float[1] i, float[1] t) => (int64[r,3] y) {
    y = NonMaxSuppression(b, s, n, i, t) }"""


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


boxes, scores = np.array([[[0, 0, 1, 1], [2, 2, 3, 3]]], np.float32), np.array([[[0.9, 0.1]]], np.float32)
expected = [[0, 0, 0]]  # the second box has a score below 0.5
try:
    got = run(TEXT, boxes, scores, np.array([2]), np.array([0.5], np.float32), np.array([0.5], np.float32)).tolist()
except (RuntimeError, ValueError) as error:
    got = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
print("expected", expected)
print("got     ", got)
sys.exit(int(got != expected))
