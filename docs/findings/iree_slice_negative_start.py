"""IREE 3.13.0: Slice with a negative step and a start behind the last index gives wrong values.

Rule: ONNX Slice 10, 11 and 13: for a negative step starts is clamped to [0, dims - 1], so that 4 means 3 here.
Upstream: https://github.com/iree-org/iree/issues/24584 is about negative steps from other starts (closed), and
https://github.com/llvm/torch-mlir/pull/4630 mended these.
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
g (float[4] x) => (float[3] y) {
    s = Constant<value_ints = [4]>()
    e = Constant<value_ints = [0]>()
    a = Constant<value_ints = [0]>()
    t = Constant<value_ints = [-1]>()
    y = Slice(x, s, e, a, t) }"""


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


expected, wrong = [3.0, 2.0, 1.0], []
for start in (3, 4):
    got = run(TEXT.replace("[4]>", f"[{start}]>"), np.arange(4, dtype=np.float32)).tolist()
    print("expected", expected, "of start", start)
    print("got     ", got)
    wrong.append(got != expected)
sys.exit(int(any(wrong)))
