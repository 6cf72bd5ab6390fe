"""IREE 3.13.0: a pooling or a convolution with a single window that does not cover its whole padded input does not compile.

Rule: ONNX AveragePool 7 to 22, MaxPool 1 to 22 and Conv 1 to 22: a window starts only where it fits; the rest is left out.
Here the input has 2 elements and 1 of padding on both sides, the kernel 3 and the stride 3: one window fits, the
fourth element belongs to none.
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

NINES = "kernel_shape = [3, 3], strides = [3, 3], pads = [1, 1, 1, 1]"
CASES = {  # four nines over nine elements, and their sum
    f"(float[1,1,2,2] x) => (float[1,1,1,1] y) {{ y = AveragePool<{NINES}, count_include_pad = 1>(x) }}": [4.0],
    f"(float[1,1,2,2] x, float[1,1,3,3] w) => (float[1,1,1,1] y) {{ y = Conv<{NINES}>(x, w) }}": [36.0],
}


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


wrong = 0
for text, expected in CASES.items():
    inputs = [np.full((1, 1, 2, 2), 9, np.float32), np.ones((1, 1, 3, 3), np.float32)][: text.count("float") - 1]
    try:
        got = run('<ir_version: 8, opset_import: ["": 11]> g ' + text, *inputs).ravel().tolist()
    except tools.CompilerToolError as error:
        got = str(error).partition("error: ")[2].splitlines()[0]
    print("expected", expected)
    print("got     ", got)
    wrong += got != expected
sys.exit(int(wrong > 0))
