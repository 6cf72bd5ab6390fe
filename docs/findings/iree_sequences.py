"""IREE 3.13.0: sequences are refused as inputs and outputs, in Loop, If, Identity and SequenceMap (not supported).

Rule: ONNX SequenceInsert 11, SequenceMap 17, Loop 13, If 13, Identity 16 and Optional 15 take sequences (or optional
values), and so do graphs. Within a graph SequenceConstruct and SequenceAt are compiled.
Upstream: none known.
Needs iree-base-compiler==3.13.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import onnx
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

OPTIONS = ["--iree-llvmcpu-target-cpu=host"]
AT = " p = Constant<value=int64{0}>() y = SequenceAt(t, p) }"
BRANCH = "b () => (seq(float[2]) u) { u = SequenceConstruct(x) }"
MADE = "(float[2] x, int64 n, bool c) => (float[2] y) { s = SequenceConstruct(x, x) "
HEADER = '<ir_version: 10, opset_import: ["": 22]> g '
MODELS = {
    "an input and an output": "(seq(float[2]) s, int64 p) => (seq(float[2]) y) { y = SequenceErase(s, p) }",
    "SequenceInsert without a position": MADE + "t = SequenceInsert(s, x)" + AT,
    "SequenceInsert at -1": MADE + "q = Constant<value=int64{-1}>() t = SequenceInsert(s, x, q)" + AT,
    "If of sequences": MADE + f"t = If(c) <then_branch={BRANCH}, else_branch={BRANCH}>" + AT,
    "Identity of an optional value": "(optional(float[2]) x) => (optional(float[2]) y) { y = Identity(x) }",
    "Optional with a type": "(float[2] x) => (bool y) { o = Optional<type=float[2]>() y = OptionalHasElement(o) }",
    "SequenceMap": MADE + "t = SequenceMap(s) <body=b (float[2] i) => (float[2] o) { o = Neg(i) }>" + AT,
    "SequenceMap of two results": MADE
    + "t, u = SequenceMap(s) <body=b (float[2] i) => (float[2] o, float[2] q) { o = Neg(i) q = Abs(i) }>"
    + AT,
    "Loop of a sequence": MADE
    + "t = Loop(n, c, s) <body=b (int64 i, bool d, seq(float[2]) u) => (bool e, seq(float[2]) v)"
    + "{ e = Identity(d) v = SequenceInsert(u, x) }>"
    + AT,
}


def refusal(text):
    """What the importer or the compiler says of a model, None where it is compiled."""
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    try:
        with ir.Context() as context:
            info = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(model))
            module = info.create_module(context=context).operation
            onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
            tools.compile_str(str(module), target_backends=["llvm-cpu"], input_type="onnx", extra_args=OPTIONS)
    except (tools.CompilerToolError, onnx_importer.OnnxImportError) as error:
        before, _, after = str(error).partition("error: ")
        return (after or before).splitlines()[0][:160]


refused = {name: said for name, graph in MODELS.items() if (said := refusal(HEADER + graph))}
for name, said in refused.items():
    print(f"expected {name}: compiled\ngot      {name}: {said}")
sys.exit(int(bool(refused)))
