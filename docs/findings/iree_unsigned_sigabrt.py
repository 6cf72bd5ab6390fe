"""IREE 3.13.0: the compiler dies (SIGABRT) of Sign and of EyeLike without dtype, of uint16 and uint64.

Rule: ONNX Sign 13 and EyeLike 9 have uint16 and uint64 among their types. Of uint8 and uint32 both compile.
Upstream: https://github.com/llvm/torch-mlir/issues/3720 (open): "LLVM ERROR: Unhandled type in getScalarTypeForType".
Needs iree-base-compiler==3.13.0, onnx and numpy. Exits with 1 while the defect shows.
"""

import sys

import onnx
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

HOST = ["--iree-llvmcpu-target-cpu=host"]
wrong = 0
for operator, kind in (("Sign", "uint16"), ("Sign", "uint64"), ("EyeLike", "uint16"), ("EyeLike", "uint64")):
    text = f"g ({kind}[2,2] x) => ({kind}[2,2] y) {{ y = {operator}(x) }}"
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
    onnx.checker.check_model(model, full_check=True)
    with ir.Context() as context:
        info = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(model))
        module = info.create_module(context=context).operation
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
        try:
            tools.compile_str(str(module), target_backends=["llvm-cpu"], input_type="onnx", extra_args=HOST)
        except tools.CompilerToolError as error:
            wrong += 1
            print(f"expected {operator} of {kind} compiles\ngot      {' '.join(str(error).split())[:110]}")
sys.exit(int(wrong > 0))
