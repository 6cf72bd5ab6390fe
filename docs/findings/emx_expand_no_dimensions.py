"""emx-onnx-cgen 1.4.0: Expand to the shape [] is refused: "ExpandOp shape input cannot be empty".

Rule: ONNX Expand 13: shape is "A 1-D tensor", and "It is possible that the output.shape is not equal to shape, when [...] the
shape.ndim < input.shape.ndim". A shape without elements is that of a scalar, and changes nothing.
A tensor of shape [2] is refused as a scalar is.
Upstream: none known.
Needs: pip install emx-onnx-cgen==1.4.0 onnx numpy. Exits with 1 while the defect shows.
"""

import importlib
import sys

import numpy as np
import onnx
import onnx.parser
from emx_onnx_cgen.compiler import Compiler, CompilerOptions
from onnx import numpy_helper

importlib.import_module("emx_onnx_cgen.lowering").load_lowering_registry()


model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
g (float[2] x) => (float[2] y) { y = Expand(x, shape) }""")
model.graph.initializer.append(numpy_helper.from_array(np.zeros(0, np.int64), "shape"))
onnx.checker.check_model(model, full_check=True)
got = "compiles"
try:
    Compiler(CompilerOptions(model_name="model")).compile_with_weight_data(model)
except Exception as error:  # of emx's own type
    got = f"{type(error).__name__}: {str(error).partition(' (')[0][:120]}"
print("expected", "compiles")
print("got     ", got)
sys.exit(0 if got == "compiles" else 1)
