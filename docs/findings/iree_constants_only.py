"""IREE 3.13.0: inputs of Dropout, Slice and STFT that may be computed are taken as constants only (not supported).

Rule: ONNX Dropout 12 to 22 (ratio, training_mode), Slice 10 to 13 (axes) and STFT 17 (frame_length) have such inputs.
What they hold may be computed, and may differ from run to run.
Upstream: none known.
Needs iree-base-compiler==3.13.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import onnx
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

OPTIONS = ["--iree-llvmcpu-target-cpu=host"]
MODELS = {
    "Dropout 22 ratio and training_mode": "(float[3] x, float r, bool t) => (float[3] y) { y = Dropout(x, r, t) }",
    "Slice 13 axes": "(float[4,4] x, int64[1] s, int64[1] e, int64[1] a) => (float[n,m] y) { y = Slice(x, s, e, a) }",
    "STFT 17 frame_length": '(float[1,128,1] x, int64 s, int64 n) => (float[1,15,9,2] y) { y = STFT(x, s, "", n) }',
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
    if (said := refusal(f'<ir_version: 8, opset_import: ["": {name.split()[1]}]> g {graph}'))
}
for name, said in refused.items():
    print(f"expected {name}: compiled\ngot      {name}: {said}")
sys.exit(int(bool(refused)))
