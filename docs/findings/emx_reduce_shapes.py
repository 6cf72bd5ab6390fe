"""emx-onnx-cgen 1.4.0: sizes that emx works out itself get lost behind ReduceMax, Neg and Abs.

Rule: none of ONNX's; all sizes follow from the input's, and without the ReduceMax the same graph compiles. The bodies of
Attention that ONNX expands have a ReduceMax of the mask, whose Pad has computed pads, and of a window on both sides a Neg.
The message is "Code generation requires static shapes" and names the first open size. What refuses is the lowering of
ReduceMax ("output shape must be (2, 1), got (-1, 1)"), or that of the Where behind Neg.
Upstream: none known.
Needs: pip install emx-onnx-cgen==1.4.0 onnx numpy. Exits with 1 while the defect shows.
"""

import importlib
import sys

import onnx
import onnx.parser
from emx_onnx_cgen.compiler import Compiler, CompilerOptions

importlib.import_module("emx_onnx_cgen.lowering").load_lowering_registry()
TEXT = """<ir_version: 10, opset_import: ["" : 18]> g (float[2,3] x) => (bool[2,%d] y)
<int64[1] zero = {0}, int64[1] one = {1}, float[1] limit = {1}> {
    size = Shape <start = 1> (x)
    missing = Sub (size, size)
    pads = Concat <axis = 0> (zero, zero, zero, missing)
    mask = Pad (x, pads)
    row = %s
    y = Equal (row, limit)
}"""


def compiled(columns, row):
    try:
        model = onnx.parser.parse_model(TEXT % (columns, row))
        onnx.checker.check_model(model, full_check=True)
        Compiler(CompilerOptions(model_name="model")).compile_with_weight_data(model)
    except Exception as error:  # of emx's own type
        return f"{type(error).__name__}: {str(error)[:160]}"
    return "compiles"


print("expected", compiled(3, "Identity (mask)"), "as it does without the ReduceMax")
got = compiled(1, "ReduceMax (mask, one)")
print("got     ", got)
sys.exit(0 if got == "compiles" else 1)
