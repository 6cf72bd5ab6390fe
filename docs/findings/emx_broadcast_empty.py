"""emx-onnx-cgen 1.4.0: Where and MatMul refuse to broadcast a dimension of 1 to one of 0.

Rule: ONNX's multidirectional broadcasting, Where 16 and MatMul 13 (as numpy.matmul): a dimension of 1 becomes that of the
other operand, 0 here; the result has no elements.
The larger of the two dimensions is taken for that of the result. With 0 in both they compile. Add, Mul, Pow and Less
compile, but a Flatten behind Add or Less is refused for the wrong size.
Upstream: none known.
Needs: pip install emx-onnx-cgen==1.4.0 onnx numpy. Exits with 1 while the defect shows.
"""

import importlib
import sys

import onnx
import onnx.parser
from emx_onnx_cgen.compiler import Compiler, CompilerOptions

importlib.import_module("emx_onnx_cgen.lowering").load_lowering_registry()


def compiled(text):
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
    onnx.checker.check_model(model, full_check=True)
    try:
        Compiler(CompilerOptions(model_name="model")).compile_with_weight_data(model)
    except Exception as error:  # of emx's own types
        return f"{type(error).__name__}: {str(error).partition(' (')[0][:120]}"
    return "compiles"


got = [
    compiled("g (bool[1] c, float[0] a, float[0] b) => (float[0] y) { y = Where(c, a, b) }"),
    compiled("g (float[0,2,3] a, float[1,3,4] b) => (float[0,2,4] y) { y = MatMul(a, b) }"),
]
print("expected", ["compiles"] * 2)
print("got     ", got)
sys.exit(0 if got == ["compiles"] * 2 else 1)
