"""emx-onnx-cgen 1.4.0 (arguable): the size of a result that follows from constants is a parameter of the C function.

Rule: ONNX IR specification, section Static tensor shapes: an output may leave a dimension open, and gets it from what
the graph computes: ConcatFromSequence 11 of two tensors with 3 columns has 6; SequenceAt 11 at 1 takes the second, of
one row. The caller of the C must know the number beforehand. Arguable, because emx documents such parameters for sizes
that are open. onnx's own test_sequence_model1 and test_sequence_model4 have such results.
Upstream: none known.
Needs emx-onnx-cgen==1.4.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import importlib
import re
import sys

import onnx
from emx_onnx_cgen.compiler import Compiler, CompilerOptions
from onnx import parser

TEXTS = {
    "ConcatFromSequence": "(float[2,3] a, float[2,3] b) => (float[2,n] y) "
    "{ s = SequenceConstruct(a, b) y = ConcatFromSequence<axis = 1>(s) }",
    "SequenceAt": "(float[2,3] a, float[1,3] b) => (float[n,3] y) <int64 k = {1}> "
    "{ e = SequenceEmpty() s = SequenceInsert(e, a) t = SequenceInsert(s, b) y = SequenceAt(t, k) }",
}

importlib.import_module("emx_onnx_cgen.lowering").load_lowering_registry()
wrong = 0
for operator, text in TEXTS.items():
    model = parser.parse_model(f'<ir_version: 7, opset_import: ["": 12]> g {text}')
    onnx.checker.check_model(model, full_check=True)
    source, _ = Compiler(CompilerOptions(model_name="model")).compile_with_weight_data(model)
    signature = re.search(r"^void model\(.*?\)", source, re.MULTILINE)[0]
    wrong += "int " in signature
    print(f"expected  {operator}: a function of a, b and y")
    print(f"got       {operator}: {signature}")
sys.exit(int(wrong > 0))
