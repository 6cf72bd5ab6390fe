"""IREE 3.13.0: InstanceNormalization of a tensor with a symbolic last size gives NaN.

Rule: InstanceNormalization 6 and 22: y = scale * (x - mean) / sqrt(variance + epsilon) + B, for each channel. With
a number as that size the same input gives the right result.
Upstream: https://github.com/iree-org/iree/issues/22956 (open).
Needs: pip install iree-base-compiler==3.13.0 iree-base-runtime==3.13.0 onnx numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
from iree import runtime
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer


def run(text, *inputs):
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


TEXT = """<ir_version: 8, opset_import: ["": 17]> g (float[1,2,%s] x) => (float[1,2,%s] y)
<float[2] scale = {1, 1}, float[2] b = {0, 0}> { y = InstanceNormalization (x, scale, b) }"""
x = np.array([[[0, 1, 2, 3], [1, 1, 5, 5]]], np.float32)
expected, got = run(TEXT % (4, 4), x), run(TEXT % ("n", "n"), x)
print("expected", expected[0, 0], "as with the size 4")
print("got     ", got[0, 0])
sys.exit(0 if np.allclose(expected, got, atol=1e-5) else 1)
