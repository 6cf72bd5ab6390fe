"""emx-onnx-cgen 1.4.0 (not supported): Add, Mul and ReduceMax of bfloat16 are refused.

Rule: ONNX Add 14, Mul 14 and ReduceMax 18: bfloat16 is one of the types of T.
onnx's function body of Attention in bfloat16 has the three.
Upstream: none known.
Needs emx-onnx-cgen==1.4.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import importlib
import sys

import onnx
from emx_onnx_cgen.compiler import Compiler, CompilerOptions
from onnx import parser

importlib.import_module("emx_onnx_cgen.lowering").load_lowering_registry()
refused = 0
for node in ("Add(x, x)", "Mul(x, x)", "ReduceMax(x)"):
    model = parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 18]> g (bfloat16[1] x) => (bfloat16[1] y) {{ y = {node} }}'
    )
    onnx.checker.check_model(model, full_check=True)
    operator = model.graph.node[0].op_type
    try:
        Compiler(CompilerOptions(model_name="model")).compile_with_weight_data(model)
    except Exception as error:  # of emx's own type
        refused += 1
        print(f"expected  {operator}: written as C")
        print(f"got       {operator}:", str(error)[:120])
sys.exit(int(refused > 0))
