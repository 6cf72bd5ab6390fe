"""IREE 3.13.0: RNN and GRU go forward only, and LSTM does not go in reverse (not supported).

Rule: ONNX RNN, GRU and LSTM 7, 14 and 22, attribute direction: forward, reverse or bidirectional.
A bidirectional LSTM is compiled.
Upstream: none known.
Needs iree-base-compiler==3.13.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import onnx
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

OPTIONS = ["--iree-llvmcpu-target-cpu=host"]
GRAPH = """(float[3,1,2] x, float[{n},{g},2] w, float[{n},{g},2] r) => (float[3,{n},1,2] y, float[{n},1,2] h)
{{ y, h = {op}<hidden_size=2, direction="{way}">(x, w, r) }}"""
HEADER = '<ir_version: 10, opset_import: ["": 22]> g '
MODELS = {
    f"{op} {way}": GRAPH.format(op=op, way=way, g=g, n=n)
    for op, g in (("RNN", 2), ("GRU", 6), ("LSTM", 8))
    for way, n in (("reverse", 1), ("bidirectional", 2))
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
