"""emx-onnx-cgen 1.4.0: the sizes of a Reshape with a computed target do not get through QuantizeLinear and DequantizeLinear to a Split.

Rule: none of ONNX's; the input is static, and without the pair behind the Reshape the same graph compiles, as it does
with a pair in front of Shape, or with a constant as target. Shape, Gather and Concat make the target, as onnxruntime's
quantize_static leaves it in a transformer: "Code generation requires static shapes". A Transpose fails as the Split does.
Upstream: none known.
Needs: pip install emx-onnx-cgen==1.4.0 onnx numpy. Exits with 1 while the defect shows.
"""

import importlib
import sys

import onnx
import onnx.parser
from emx_onnx_cgen.compiler import Compiler, CompilerOptions

importlib.import_module("emx_onnx_cgen.lowering").load_lowering_registry()
TEXT = """<ir_version: 10, opset_import: ["" : 18]> g (float[1,12] x) => (float[3,4] y)
<int64 one = {1}, int64[1] axis = {0}, int64[1] three = {3}, float s = {0.1}, uint8 z = {128}> {
    shape = Shape (x)
    size = Gather (shape, one)
    row = Unsqueeze (size, axis)
    part = Div (row, three)
    target = Concat <axis = 0> (three, part)
    r = Reshape (x, target)
    %s
    a, b, c = Split <axis = 0, num_outputs = 3> (v)
    y = Concat <axis = 0> (a, b, c)
}"""


def compiled(behind):
    try:
        model = onnx.parser.parse_model(TEXT % behind)
        onnx.checker.check_model(model, full_check=True)
        Compiler(CompilerOptions(model_name="model")).compile_with_weight_data(model)
    except Exception as error:  # of emx's own type
        return f"{type(error).__name__}: {str(error)[:160]}"
    return "compiles"


print("expected", compiled("v = Identity (r)"), "as it does without the pair")
got = compiled("q = QuantizeLinear (r, s, z)\n    v = DequantizeLinear (q, s, z)")
print("got     ", got)
sys.exit(0 if got == "compiles" else 1)
