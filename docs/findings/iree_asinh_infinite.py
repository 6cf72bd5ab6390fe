"""IREE 3.13.0: Asinh of -100000 is -Inf, and of 2e19 Inf.

Rule: ONNX Asinh 9: "Calculates the hyperbolic arcsine of the given input tensor element-wise." It is finite for every x.
It is computed as log(x + sqrt(x * x + 1)): the square overflows, and of a large negative x the sum is 0.
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


x = np.array([-1e5, 2e19], np.float32)
expected = np.arcsinh(x.astype(np.float64))
got = run("g (float[2] x) => (float[2] y) { y = Asinh(x) }", x)
print("expected", expected.tolist())
print("got     ", got.tolist())
sys.exit(int(not np.allclose(got, expected, rtol=1e-5)))
