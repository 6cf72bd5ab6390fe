"""MNN 3.6.1: the converter has no rule for 53 operators of ONNX. (not supported)

Rule: ONNX's operator list: opsets 1 to 28 of its own domain, and ai.onnx.ml, ai.onnx.preview.training and the rest.
Of onnx's own cases, the smallest that has the operator is taken; collecting them takes half a minute.
Upstream: https://github.com/alibaba/MNN/issues/4153 (IsNaN),
https://github.com/alibaba/MNN/issues/3835 (ConvInteger)
Needs mnn==3.6.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

import onnx
from onnx.backend.test.case.node import collect_testcases

os.chdir(tempfile.mkdtemp())

OPERATORS = """
Adagrad Adam AffineGrid ArrayFeatureExtractor Attention Bernoulli Binarizer BitCast BitwiseAnd BitwiseNot BitwiseOr
BitwiseXor BlackmanWindow CausalConvWithState CenterCropPad Col2Im ConvInteger CumProd DFT DeformConv FlexAttention
Gradient GroupNormalization HammingWindow HannWindow Hardmax ImageDecoder IsInf IsNaN LabelEncoder LinearAttention
MatMulInteger MelWeightMatrix Mish Momentum Optional OptionalGetElement OptionalHasElement QLinearConv QLinearMatMul
RMSNormalization RegexFullMatch RotaryEmbedding Scan SequenceMap StringConcat StringNormalizer StringSplit SwiGLU Swish
TensorScatter TfIdfVectorizer TreeEnsemble
"""
# The converter itself: the command mnnconvert installs packages when it starts (mnn_pip.py).
CONVERT = "from _tools import mnnconvert as c; c('c -f ONNX --modelFile m.onnx --MNNModel m.mnn --bizCode b'.split())"


def operators(graph):
    """The graph's operators, those of the graphs in it included."""
    inner = [a.g for node in graph.node for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
    return {node.op_type for node in graph.node}.union(*map(operators, inner))


data = os.path.join(os.path.dirname(onnx.__file__), "backend/test/data/simple/*/model.onnx")
models = [case.model for case in collect_testcases(None) if case.model] + [onnx.load(path) for path in glob.glob(data)]
models.sort(key=lambda model: (len(model.graph.node), -model.opset_import[0].version))  # the newest of the smallest
wrong = 0
for operator in OPERATORS.split():
    onnx.save(next(model for model in models if operator in operators(model.graph)), "m.onnx")
    said = subprocess.run([sys.executable, "-c", CONVERT], capture_output=True, text=True).stdout
    refusal = re.search(rf"These Op Not Support.*\bONNX::{operator}\b.*", said)
    if refusal:
        wrong = 1
        print(f"expected {operator}: converted")
        print(f"got      {operator}: {refusal[0]}")
sys.exit(wrong)
