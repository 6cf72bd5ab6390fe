"""apache-tvm 0.27.0.post1: the ONNX frontend has no converter for fifteen operators (not supported).

Rule: ONNX's operator list, opset 23 with ai.onnx.ml 5 and ai.onnx.preview.training 1: all of these are of ONNX.
Upstream: https://github.com/apache/tvm/issues/20124 lists missing operators, Loop and SequenceMap among them, and
https://github.com/apache/tvm/issues/17767 is about Loop.
Needs apache-tvm==0.27.0.post1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

HEADER = '<ir_version: 10, opset_import: ["": 23, "ai.onnx.ml": 5, "ai.onnx.preview.training": 1]> g'
X = "(float r, int64 t, float[1] x) => (float[1] y, float[1] v"  # of the optimisers
MODELS = {
    "Celu": "(float[3] x) => (float[3] y) { y = Celu(x) }",
    "LpNormalization": "(float[3] x) => (float[3] y) { y = LpNormalization(x) }",
    "ReverseSequence": "(float[2,2] x, int64[2] n) => (float[2,2] y) { y = ReverseSequence(x, n) }",
    "ImageDecoder": '(uint8[99] x) => (uint8[4,4,3] y) { y = ImageDecoder<pixel_format="RGB">(x) }',
    "Loop": """(int64 n, bool c, float[1] x) => (float[1] y) { y = Loop(n, c, x)
        <body=b (int64 i, bool d, float[1] p) => (bool e, float[1] q) { e = Identity(d) q = Add(p, p) }> }""",
    "RotaryEmbedding": """(float[1,1,2,4] x, float[1,2,2] c, float[1,2,2] s) => (float[1,1,2,4] y)
        { y = RotaryEmbedding(x, c, s) }""",
    "SequenceMap": """(float[2] x) => (int64 y) { s = SequenceConstruct(x)
        t = SequenceMap(s) <body=b (float[2] i) => (float[2] o) { o = Neg(i) }> y = SequenceLength(t) }""",
    "TfIdfVectorizer": """(int32[2] x) => (float[1] y) { y = TfIdfVectorizer<max_gram_length=1, max_skip_count=0,
        min_gram_length=1, mode="TF", ngram_counts=[0], ngram_indexes=[0], pool_int64s=[2]>(x) }""",
    "ArrayFeatureExtractor": "(float[3] x, int64 i) => (float[1,1] y) { y = ai.onnx.ml.ArrayFeatureExtractor(x, i) }",
    "Binarizer": "(float[3] x) => (float[3] y) { y = ai.onnx.ml.Binarizer<threshold=1.0>(x) }",
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
