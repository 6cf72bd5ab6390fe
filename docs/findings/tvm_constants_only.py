"""apache-tvm 0.27.0.post1: inputs of six operators that may be computed are taken as constants only (not supported).

Rule: ONNX AffineGrid 20 (size), CumSum 14 (axis), Resize 19 (sizes, scales), Split 18 and SplitToSequence 11 (split)
and SequenceInsert 11 (position) have inputs for these, which may differ from run to run.
Upstream: none known.
Needs apache-tvm==0.27.0.post1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

HEADER = '<ir_version: 9, opset_import: ["": 20]> g '
MODELS = {
    "AffineGrid size": "(float[1,2,3] t, int64[4] s) => (float[1,2,2,2] y) { y = AffineGrid(t, s) }",
    "CumSum axis": "(float[3] x, int64 a) => (float[3] y) { y = CumSum(x, a) }",
    "Resize sizes": '(float[1,1,2,2] x, int64[4] n) => (float[1,1,4,4] y) { y = Resize<mode="linear">(x, "", "", n) }',
    "Resize scales": '(float[1,1,2,2] x, float[4] n) => (float[1,1,4,4] y) { y = Resize<mode="linear">(x, "", n) }',
    "Split split": "(float[6] x, int64[2] n) => (float[2] y, float[4] z) { y, z = Split(x, n) }",
    "SplitToSequence split": "(float[6] x, int64 n) => (int64 y) { s = SplitToSequence(x, n) y = SequenceLength(s) }",
    "SequenceInsert position": """(float[2] x, int64 p) => (int64 y)
        { s = SequenceConstruct(x, x) t = SequenceInsert(s, x, p) y = SequenceLength(t) }""",
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
