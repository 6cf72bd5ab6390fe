"""IREE 3.13.0: torch-mlir's ONNX importer has no lowering of fifteen operators (not supported).

Rule: ONNX's operator list, opset 20 with ai.onnx.ml 5 and ai.onnx.preview.training 1: all of these are of ONNX.
A file that imports no version of the default domain is refused for that: "missing onnx opset version attribute".
Upstream: none known.
Needs iree-base-compiler==3.13.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import onnx
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

OPTIONS = ["--iree-llvmcpu-target-cpu=host"]
HEADER = '<ir_version: 9, opset_import: ["": 20, "ai.onnx.ml": 5, "ai.onnx.preview.training": 1]> g'
X = "(float r, int64 t, float[1] x) => (float[1] y, float[1] v"  # of the optimisers
MODELS = {
    "AffineGrid": "(float[1,2,3] t, int64[4] s) => (float[1,2,2,2] y) { y = AffineGrid(t, s) }",
    "ConcatFromSequence": "(float[2] a) => (float[2] y) { s = SequenceConstruct(a) y = ConcatFromSequence<axis=0>(s) }",
    "ImageDecoder": '(uint8[99] x) => (uint8[4,4,3] y) { y = ImageDecoder<pixel_format="RGB">(x) }',
    "RegexFullMatch": '(string[2] x) => (bool[2] y) { y = RegexFullMatch<pattern="a+">(x) }',
    "StringConcat": "(string[2] a, string[2] b) => (string[2] y) { y = StringConcat(a, b) }",
    "StringNormalizer": '(string[2] x) => (string[2] y) { y = StringNormalizer<case_change_action="UPPER">(x) }',
    "StringSplit": '(string[2] x) => (string[2,n] y, int64[2] z) { y, z = StringSplit<delimiter=".">(x) }',
    "ArrayFeatureExtractor": "(float[3] x, int64 i) => (float[1,1] y) { y = ai.onnx.ml.ArrayFeatureExtractor(x, i) }",
    "Binarizer": "(float[3] x) => (float[3] y) { y = ai.onnx.ml.Binarizer<threshold=1.0>(x) }",
    "LabelEncoder": "(int64 x) => (int64 y) { y = ai.onnx.ml.LabelEncoder<keys_int64s=[1], values_int64s=[2]>(x) }",
    "TreeEnsemble": """(float[1,1] x) => (float[1,1] y) { y = ai.onnx.ml.TreeEnsemble<n_targets=1, tree_roots=[0],
        leaf_targetids=[0, 0], leaf_weights=float[2]{1, 2}, nodes_featureids=[0], nodes_modes=uint8[1]{0},
        nodes_splits=float[1]{0}, nodes_truenodeids=[0], nodes_trueleafs=[1], nodes_falsenodeids=[1],
        nodes_falseleafs=[1]>(x) }""",
    "Adagrad": X + ") { y, v = ai.onnx.preview.training.Adagrad(r, t, x, x, x) }",
    "Adam": X + ", float[1] h) { y, v, h = ai.onnx.preview.training.Adam(r, t, x, x, x, x) }",
    "Gradient": '(float a) => (float d) { b = Neg(a) d = ai.onnx.preview.training.Gradient<xs=["a"], y="b">(a) }',
    "Momentum": X
    + """) { y, v = ai.onnx.preview.training.Momentum<alpha=1.0, beta=1.0, mode="standard", norm_coefficient=0.0>
        (r, t, x, x, x) }""",
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
