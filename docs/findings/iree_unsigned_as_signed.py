"""IREE 3.13.0: Div, Mod, MaxPool, TopK, Clip and Abs of unsigned integers are computed as those of signed ones.

Rule: ONNX Div 14, Mod 13, MaxPool 12, TopK 11, Clip 13 and Abs 13 have uint8 among their types, and 200 is one: 200 / 3
is 66, 200 % 7 is 4, the largest of 1 and 200 is 200. IREE takes 200 for -56. Div and Mod of uint16, uint32 and uint64
are the same from the upper half of the type on. ONNX's own cases have no number above 127.
Upstream: https://github.com/llvm/torch-mlir/pull/4601 tells the same of Add and Sub that widen uint8 (merged)
Needs: pip install iree-base-compiler==3.13.0 iree-base-runtime==3.13.0 onnx numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
from iree import runtime
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

PAIR = "(uint8[2] a, uint8[2] b) => (uint8[2] y)"
CASES = {
    f"{PAIR} {{ y = Div(a, b) }}": ([[200, 9], [3, 200]], [66, 0]),
    f"{PAIR} {{ y = Mod(a, b) }}": ([[200, 9], [7, 200]], [4, 9]),
    "(uint8[1,1,2] x) => (uint8[1,1,1] y) { y = MaxPool<kernel_shape=[2]>(x) }": ([[[[1, 200]]]], [200]),
    "(uint8[2] x, uint8 low, uint8 high) => (uint8[2] y) { y = Clip(x, low, high) }": ([[9, 255], 1, 200], [9, 200]),
    "(uint8[2] x) => (uint8[1] y) <int64[1] k = {1}> { y, i = TopK(x, k) }": ([[5, 200]], [200]),
    "(uint8[2] x) => (uint8[2] y) { y = Abs(x) }": ([[9, 200]], [9, 200]),
}


def run(model, inputs):
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
for text, (inputs, expected) in CASES.items():
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g ' + text)
    onnx.checker.check_model(model, full_check=True)
    got = run(model, [np.array(x, np.uint8) for x in inputs]).view(np.uint8).ravel().tolist()
    if got != expected:
        wrong += 1
        print("expected", model.graph.node[0].op_type, expected)
        print("got     ", model.graph.node[0].op_type, got)
sys.exit(int(wrong > 0))
