"""IREE 3.13.0: SplitToSequence takes the number of lengths in its input split for the only length.

Rule: ONNX SplitToSequence 11 and 24: a split of one dimension lists the lengths of the parts, here 1, 2 and 3.
The lowering splits into parts of 3 elements, for the list has three lengths.
Upstream: https://github.com/llvm/torch-mlir/pull/3509 brought the lowering, its test expects such parts.
Needs iree-base-compiler==3.13.0 and iree-base-runtime==3.13.0, onnx and numpy.
Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
from iree import runtime
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

TEXT = """<ir_version: 8, opset_import: ["": 13]>
g (float[6] x) => (int64 y) {
    n = Constant<value_ints = [1, 2, 3]>()
    s = SplitToSequence(x, n)
    y = SequenceLength(s) }"""


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


got = run(TEXT, np.arange(6, dtype=np.float32)).tolist()
print("expected", 3, "parts")
print("got     ", got)
sys.exit(int(got != 3))
