"""apache-tvm 0.27.0.post1: SequenceLength of a split, SequenceInsert into an input and an If of an Optional fail.

Rule: ONNX SequenceLength 11 and SequenceInsert 11 take every sequence, that of SplitToSequence and an input
as well. The converters ask for Python's len(), which an expression does not have. Optional 15 may be empty, and an
If may give it; the converter of If asks an empty one for its type.
Upstream: none known.
Needs apache-tvm==0.27.0.post1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

HEADER = '<ir_version: 9, opset_import: ["": 18]> g '
MODELS = {
    "SequenceLength of SplitToSequence": "(float[4] x) => (int64 y) { s = SplitToSequence(x) y = SequenceLength(s) }",
    "SequenceInsert into an input": "(seq(float[2]) s, float[2] x) => (seq(float[2]) y) { y = SequenceInsert(s, x) }",
    "If of an empty Optional": """(bool c) => (bool y) { o = If(c)
        <then_branch=a () => (optional(float[1]) p) { p = Optional<type=float[1]>() },
        else_branch=b () => (optional(float[1]) q) { x = Constant<value=float[1]{1}>() q = Optional(x) }>
        y = OptionalHasElement(o) }""",
}


def refusal(text):
    """What the frontend or the compiler says of a model, None where it is compiled."""
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    try:
        relax.build(from_onnx(model), tvm.target.Target("llvm"))
    except Exception as error:  # of whatever type the frontend has
        return f"{type(error).__name__}: {' '.join(str(error).split())[-160:]}"


refused = {name: said for name, graph in MODELS.items() if (said := refusal(HEADER + graph))}
for name, said in refused.items():
    print(f"expected {name}: compiled\ngot      {name}: {said}")
sys.exit(int(bool(refused)))
