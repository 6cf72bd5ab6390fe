"""IREE 3.13.0: tensors of strings are taken neither as inputs nor as attributes (not supported).

Rule: ONNX Equal 19 compares strings too; LabelEncoder 4 of ai.onnx.ml may have its keys in a tensor of strings.
Upstream: none known.
Needs iree-base-compiler==3.13.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import onnx
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

OPTIONS = ["--iree-llvmcpu-target-cpu=host"]
HEADER = '<ir_version: 9, opset_import: ["": 20, "ai.onnx.ml": 5, "ai.onnx.preview.training": 1]> g'
MODELS = {
    "Equal of strings": "(string[2] a, string[2] b) => (bool[2] y) { y = Equal(a, b) }",
    "LabelEncoder with keys_tensor": """(string[2] x) => (int16[2] y) { y = ai.onnx.ml.LabelEncoder
        <keys_tensor=string[1]{"a"}, values_tensor=int16[1]{1}, default_tensor=int16[1]{0}>(x) }""",
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


refused = {name: said for name, graph in MODELS.items() if (said := refusal(f"{HEADER} {graph}"))}
for name, said in refused.items():
    print(f"expected {name}: compiled\ngot      {name}: {said}")
sys.exit(int(bool(refused)))
