"""IREE 3.13.0: an LSTM whose weights have a size that shape inference does not know is refused.

Rule: ONNX LSTM 7, 14 and 22: W is [directions, 4*hidden_size, input_size], and input_size is also the last size of X,
which is known here. mx2onnx computes the shape of W in the graph; behind QuantizeLinear and DequantizeLinear it is
unknown. Of an unknown size of X the same LSTM is compiled.
Upstream: none known.
Needs iree-base-compiler==3.13.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import onnx
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

OPTIONS = ["--iree-llvmcpu-target-cpu=host"]
GRAPH = (
    "(float[2,1,{}] x, float[1,4,{}] w, float[1,4,1] r) => (float[2,1,1,1] y) {{ y = LSTM<hidden_size=1>(x, w, r) }}"
)
MODELS = {
    "all sizes known": GRAPH.format(1, 1),
    "the size of X unknown": GRAPH.format("n", 1),
    "the size of W unknown": GRAPH.format(1, "n"),
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


refused = {
    name: said
    for name, graph in MODELS.items()
    if (said := refusal(f'<ir_version: 8, opset_import: ["": 14]> g {graph}'))
}
for name, said in refused.items():
    print(f"expected {name}: compiled\ngot      {name}: {said}")
sys.exit(int(bool(refused)))
