"""IREE 3.13.0 (arguable): numbers below the smallest normal float32 are taken for 0: Ceil of 1e-40 is 0.

Rule: none says it; TensorProto.FLOAT is a float32 of IEEE 754, which has such numbers, and Ceil 13 gives the smallest integer
that is not below x. ONNX does not say whether a tool may flush them to 0.
Sqrt gives 0 and Log -Inf; of a negative one Sqrt gives -0 and Log -Inf, where the result is NaN. Abs and Neg keep them.
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


x = np.array([1e-40], np.float32)
got = {op: float(run(f"g (float[1] x) => (float[1] y) {{ y = {op}(x) }}", x)[0]) for op in ("Ceil", "Sqrt", "Log")}
expected = {"Ceil": 1.0, "Sqrt": float(np.sqrt(x.astype(float))[0]), "Log": float(np.log(x.astype(float))[0])}
print("expected", expected)
print("got     ", got)
sys.exit(int(any(abs(got[op] / y - 1) > 1e-5 for op, y in expected.items())))
