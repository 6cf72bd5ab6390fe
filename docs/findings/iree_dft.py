"""IREE 3.13.0: DFT cannot be compiled: onesided is refused, and of the rest a complex fft_fft is left (not supported).

Rule: ONNX DFT 20, which has the axis as an input, and DFT 17, which has it as an attribute and is refused for that.
Upstream: none known.
Needs iree-base-compiler==3.13.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import onnx
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

OPTIONS = ["--iree-llvmcpu-target-cpu=host"]
DFT = '(float[1,{},{}] x, int64 a) => (float[1,{},{}] y) {{ y = DFT<inverse={}, onesided={}>(x, "", a) }}'
MODELS = {
    "DFT": DFT.format(8, 1, 8, 2, 0, 0),
    "DFT inverse": DFT.format(8, 2, 8, 2, 1, 0),
    "DFT onesided": DFT.format(8, 1, 5, 2, 0, 1),
    "DFT onesided and inverse": DFT.format(5, 2, 8, 1, 1, 1),
    "DFT 17": "(float[1,8,1] x) => (float[1,8,2] y) { y = DFT<axis=1>(x) }",
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
    if (said := refusal(f'<ir_version: 9, opset_import: ["": {17 if name == "DFT 17" else 20}]> g {graph}'))
}
for name, said in refused.items():
    print(f"expected {name}: compiled\ngot      {name}: {said}")
sys.exit(int(bool(refused)))
