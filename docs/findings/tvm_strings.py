"""apache-tvm 0.27.0.post1: a graph with an input of strings ends in "unknown dtype `object`" (not supported).

Rule: ONNX IR, "Standard data types": string is an element type of tensors; these operators take it.
TVM has no strings; the frontend hands on the type that numpy has for them.
Upstream: https://github.com/apache/tvm/issues/20124 lists operators on strings as missing.
Needs apache-tvm==0.27.0.post1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

HEADER = '<ir_version: 9, opset_import: ["": 20, "ai.onnx.ml": 4]> g'
MODELS = {
    "Equal": "(string[2] a, string[2] b) => (bool[2] y) { y = Equal(a, b) }",
    "RegexFullMatch": '(string[2] x) => (bool[2] y) { y = RegexFullMatch<pattern="a+">(x) }',
    "StringConcat": "(string[2] a, string[2] b) => (string[2] y) { y = StringConcat(a, b) }",
    "StringNormalizer": '(string[2] x) => (string[2] y) { y = StringNormalizer<case_change_action="UPPER">(x) }',
    "StringSplit": '(string[2] x) => (string[2,n] y, int64[2] z) { y, z = StringSplit<delimiter=".">(x) }',
    "LabelEncoder": """(string[2] x) => (int64[2] y)
        { y = ai.onnx.ml.LabelEncoder<keys_strings=["a"], values_int64s=[2]>(x) }""",
}


def refusal(text):
    """What the frontend or the compiler says of a model, None where it is compiled."""
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    try:
        relax.build(from_onnx(model), tvm.target.Target("llvm"))
    except Exception as error:  # of whatever type the frontend has
        return f"{type(error).__name__}: {' '.join(str(error).split())[-160:]}"


refused = {name: said for name, graph in MODELS.items() if (said := refusal(f"{HEADER} {graph}"))}
for name, said in refused.items():
    print(f"expected {name}: compiled\ngot      {name}: {said}")
sys.exit(int(bool(refused)))
