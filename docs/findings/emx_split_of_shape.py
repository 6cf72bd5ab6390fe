"""emx-onnx-cgen 1.4.0: a part of a shape that Split cuts out is not known, and ConstantOfShape refuses it.

Rule: none of ONNX's; all sizes follow from the input's, and with Slice in the place of Split the same graph compiles.
mx2onnx takes the size of an LSTM's initial state out of a shape with Split.
Upstream: none known.
Needs emx-onnx-cgen==1.4.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import importlib
import sys

import onnx
import onnx.parser
from emx_onnx_cgen.compiler import Compiler, CompilerOptions

importlib.import_module("emx_onnx_cgen.lowering").load_lowering_registry()
TEXT = """<ir_version: 8, opset_import: ["": 13]> g (float[2,3] x) => (float[n] y)
<int64[1] one = {1}, int64[1] two = {2}> {
    shape = Shape(x)
    %s
    y = ConstantOfShape(columns) }"""


def compiled(part):
    """What emx says of the graph in which this node takes the number of columns out of the shape."""
    model = onnx.parser.parse_model(TEXT % part)
    onnx.checker.check_model(model, full_check=True)
    try:
        Compiler(CompilerOptions(model_name="model")).compile_with_weight_data(model)
    except Exception as error:  # of emx's own types
        return f"{type(error).__name__}: {str(error)[:120]}"
    return "compiles"


print("expected", compiled("columns = Slice(shape, one, two)"), "as it does with Slice")
got = compiled("rows, columns = Split(shape)")
print("got     ", got)
sys.exit(int(got != "compiles"))
