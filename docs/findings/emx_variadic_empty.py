"""emx-onnx-cgen 1.4.0: Max, Min, Mean, Sum, And, Or and Xor refuse operands without elements.

Rule: ONNX's multidirectional broadcasting, Max 13, Min 13, Mean 13, Sum 13, And 7, Or 7 and Xor 7: operands of one shape
have a result of that shape, [2, 0] here.
Where the dimensions are merged only those above 1 are looked at, so that one of 0 becomes 1, and the shape of the output is
called wrong by an UnsupportedOpError. Add, Mul, Pow and Less, which merge shapes elsewhere, compile.
Upstream: none known.
Needs: pip install emx-onnx-cgen==1.4.0 onnx numpy. Exits with 1 while the defect shows.
"""

import importlib
import sys

import onnx
import onnx.parser
from emx_onnx_cgen.compiler import Compiler, CompilerOptions

importlib.import_module("emx_onnx_cgen.lowering").load_lowering_registry()


def compiled(operator, dtype):
    text = f"g ({dtype}[2,0] a, {dtype}[2,0] b) => ({dtype}[2,0] y) {{ y = {operator}(a, b) }}"
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
    onnx.checker.check_model(model, full_check=True)
    try:
        Compiler(CompilerOptions(model_name="model")).compile_with_weight_data(model)
    except Exception as error:  # of emx's own types
        return f"{type(error).__name__}: {str(error).partition(' (during')[0][:120]}"
    return "compiles"


got = [compiled(operator, "float") for operator in ("Max", "Min", "Mean", "Sum", "Add")]
got += [compiled(operator, "bool") for operator in ("And", "Or", "Xor")]
print("expected", ["compiles"] * 8)
print("got     ", got)
sys.exit(0 if got == ["compiles"] * 8 else 1)
