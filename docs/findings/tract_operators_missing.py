"""tract 0.23.9: sixteen operators of ONNX are missing (not supported).

Rule: ONNX's operator list, opset 18 with ai.onnx.ml 5 and ai.onnx.preview.training 1: all of these are of ONNX.
Operators on sequences are in tract_sequences.py, Upsample is in tract_upsample.py.
Upstream: https://github.com/sonos/tract/issues/277 is about Loop (closed).
Needs tract==0.23.9, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import onnx
import tract

os.chdir(tempfile.mkdtemp())
HEADER = '<ir_version: 9, opset_import: ["": 18, "ai.onnx.ml": 5, "ai.onnx.preview.training": 1]> g'
X = "(float r, int64 t, float[1] x) => (float[1] y, float[1] v"  # of the optimisers
LOSS = "(float[2,3] x, int64[2] t) => (float y) {{ y = {}(x, t) }}"
MODELS = {
    "CenterCropPad": "(float[4] x, int64[1] s) => (float[n] y) { y = CenterCropPad(x, s) }",
    "Col2Im": "(float[1,4,1] x, int64[2] s, int64[2] b) => (float[1,1,2,2] y) { y = Col2Im(x, s, b) }",
    "Loop": """(int64 n, bool c, float[1] x) => (float[1] y) { y = Loop(n, c, x)
        <body=b (int64 i, bool d, float[1] p) => (bool e, float[1] q) { e = Identity(d) q = Add(p, p) }> }""",
    "LpPool": "(float[1,1,4] x) => (float[1,1,3] y) { y = LpPool<kernel_shape=[2]>(x) }",
    "ReverseSequence": "(float[2,2] x, int64[2] n) => (float[2,2] y) { y = ReverseSequence(x, n) }",
    "NegativeLogLikelihoodLoss": LOSS.format("NegativeLogLikelihoodLoss"),
    "SoftmaxCrossEntropyLoss": LOSS.format("SoftmaxCrossEntropyLoss"),
    "StringNormalizer": '(string[2] x) => (string[2] y) { y = StringNormalizer<case_change_action="UPPER">(x) }',
    "TfIdfVectorizer": """(int32[2] x) => (float[1] y) { y = TfIdfVectorizer<max_gram_length=1, max_skip_count=0,
        min_gram_length=1, mode="TF", ngram_counts=[0], ngram_indexes=[0], pool_int64s=[2]>(x) }""",
    "Binarizer": "(float[3] x) => (float[3] y) { y = ai.onnx.ml.Binarizer<threshold=1.0>(x) }",
    "LabelEncoder": "(int64 x) => (int64 y) { y = ai.onnx.ml.LabelEncoder<keys_int64s=[1], values_int64s=[2]>(x) }",
    "TreeEnsemble": """(float[1,1] x) => (float[1,1] y) { y = ai.onnx.ml.TreeEnsemble<n_targets=1, tree_roots=[0],
        leaf_targetids=[0, 0], leaf_weights=float[2]{1, 2}, nodes_featureids=[0], nodes_modes=uint8[1]{0}, nodes_splits
        =float[1]{0}, nodes_truenodeids=[0], nodes_trueleafs=[1], nodes_falsenodeids=[1], nodes_falseleafs=[1]>(x) }""",
    "Adagrad": X + ") { y, v = ai.onnx.preview.training.Adagrad(r, t, x, x, x) }",
    "Adam": X + ", float[1] h) { y, v, h = ai.onnx.preview.training.Adam(r, t, x, x, x, x) }",
    "Gradient": '(float a) => (float d) { b = Neg(a) d = ai.onnx.preview.training.Gradient<xs=["a"], y="b">(a) }',
    "Momentum": X
    + """) { y, v = ai.onnx.preview.training.Momentum
        <alpha=1.0, beta=1.0, mode="standard", norm_coefficient=0.0>(r, t, x, x, x) }""",
}


def refusal(text):
    """What tract says of a model before anything runs, None where it takes it."""
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    try:
        tract.onnx().load("m.onnx").into_model().into_runnable()
    except tract.TractError as error:
        return " ".join(str(error).partition("Stack backtrace")[0].split())[:160]


refused = {name: said for name, graph in MODELS.items() if (said := refusal(f"{HEADER} {graph}"))}
for name, said in refused.items():
    print(f"expected {name}: taken\ngot      {name}: {said}")
sys.exit(int(bool(refused)))
