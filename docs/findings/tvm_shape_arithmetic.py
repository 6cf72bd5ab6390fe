"""apache-tvm 0.27.0.post1: what Shape gives is refused by all but thirteen operators, by Add and Split for example.

Rule: ONNX Shape 13 to 25: the output is a tensor of int64, which every operator takes that takes int64.
The frontend makes a ShapeExpr of it: "Node cannot handle ShapeExpr inputs". The functions of LayerNormalization,
RMSNormalization, Attention and GroupNormalization calculate with shapes so.
Upstream: https://github.com/apache/tvm/issues/20186 is about the same of Where (closed).
Needs apache-tvm==0.27.0.post1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

HEADER = '<ir_version: 9, opset_import: ["": 18]> g '
MODELS = {
    name: f"(float[2,3] x) => ({kind} y) {{ s = Shape(x) {nodes} }}"
    for name, kind, nodes in (
        ("Add", "int64[2]", "y = Add(s, s)"),
        ("Mul", "int64[2]", "y = Mul(s, s)"),
        ("Sub", "int64[2]", "y = Sub(s, s)"),
        ("Neg", "int64[2]", "y = Neg(s)"),
        ("Max", "int64[2]", "y = Max(s, s)"),
        ("Size", "int64", "y = Size(s)"),
        ("ReduceProd", "int64[1]", "y = ReduceProd(s)"),
        ("Split", "int64[1]", "y, z = Split<num_outputs=2>(s)"),
        ("Identity", "int64[2]", "y = Identity(s)"),
        ("Unsqueeze", "int64[1,2]", "i = Constant<value=int64[1]{0}>() y = Unsqueeze(s, i)"),
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


refused = {name: said for name, graph in MODELS.items() if (said := refusal(HEADER + graph))}
for name, said in refused.items():
    print(f"expected {name}: compiled\ngot      {name}: {said}")
sys.exit(int(bool(refused)))
