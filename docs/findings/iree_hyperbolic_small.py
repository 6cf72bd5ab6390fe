"""IREE 3.13.0 (arguable): Sinh, Asinh and Atanh lose the digits of small results; of 1e-10 they give 0.

Rule: none states a bound; ONNX Sinh 9, Asinh 9 and Atanh 9 name the functions, and this project wants 4 ULP
(docs/operators.md). They are computed as (exp(x) - exp(-x)) / 2, log(x + sqrt(x * x + 1)) and log((1 + x) / (1 - x)) / 2,
which subtract nearly equal numbers or add a small one to 1.
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


expected, got = {}, {}
for operator, function in {"Sinh": np.sinh, "Asinh": np.arcsinh, "Atanh": np.arctanh}.items():
    x = np.array([0.001, 1e-10], np.float32)
    expected[operator] = function(x.astype(np.float64)).tolist()
    got[operator] = run(f"g (float[2] x) => (float[2] y) {{ y = {operator}(x) }}", x).tolist()
print("expected", expected)
print("got     ", got)
sys.exit(int(not all(np.allclose(got[operator], y, rtol=1e-5, atol=0) for operator, y in expected.items())))
