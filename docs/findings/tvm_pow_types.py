"""apache-tvm 0.27.0.post1: Pow takes two operands of one floating-point type only.

Rule: ONNX Pow 12, 13 and 15: X may be int32, int64, float16, float or double, Y of another type, Z has X's.
The frontend casts nothing, and TVM's power takes no integers.
Upstream: https://github.com/apache/tvm/issues/15718 is about mixed types (closed),
https://github.com/apache/tvm/issues/19550 about integers from PyTorch (closed).
Needs apache-tvm==0.27.0.post1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

HEADER = '<ir_version: 8, opset_import: ["": 15]> g'
MODELS = {
    f"Pow of {x} and {y}": f"({x}[3] x, {y}[3] y) => ({x}[3] z) {{ z = Pow(x, y) }}"
    for x, y in (
        ("float", "int32"),
        ("float", "int64"),
        ("float", "uint32"),
        ("float", "uint64"),
        ("int32", "float"),
        ("int64", "float"),
        ("int32", "int32"),
        ("int64", "int64"),
    )
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
