"""emx-onnx-cgen 1.4.0: shape arithmetic is not folded behind QuantizeLinear and DequantizeLinear.

Rule: none of ONNX's; the input is static, and without the pair the same graph compiles. Shape, Gather and Concat make
the target of a Reshape, as onnxruntime's quantize_static leaves it in a transformer: "Code generation requires static
shapes". The message names the first open dimension, not the operator that refused.
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
    %s
    r = Reshape (w, target)
    %s
    a, b, c = Split <axis = 0, num_outputs = 3> (v)
    y = Concat <axis = 0> (a, b, c)
}"""
PAIR = "q_{1} = QuantizeLinear ({0}, s, z)\n{1} = DequantizeLinear (q_{1}, s, z)"


def compiled(*between):
    try:
        model = onnx.parser.parse_model(TEXT % between)
        onnx.checker.check_model(model, full_check=True)
        Compiler(CompilerOptions(model_name="model")).compile_with_weight_data(model)
    except Exception as error:  # of emx's own type
        return f"{type(error).__name__}: {str(error)[:160]}"
    return "compiles"


print("expected", compiled("w = Identity (x)", "v = Identity (r)"), "as it does without the pairs")
got = compiled(PAIR.format("x", "w"), PAIR.format("r", "v"))
print("got     ", got)
sys.exit(0 if got == "compiles" else 1)
