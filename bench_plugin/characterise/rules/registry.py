"""The rule of each operator of ONNX's own domain; other operators are named, and never count as nothing in silence."""

from __future__ import annotations

from collections.abc import Mapping

from bench_plugin.characterise.rules import elementwise, layers, linear
from bench_plugin.characterise.rules.counts import Rule

RULES: Mapping[str, Rule] = {**linear.RULES, **elementwise.RULES, **layers.RULES}
CONTROL = ("If", "Loop", "Scan")  # their subgraphs' nodes are counted once each
# Operators without a rule: what they compute depends on values, is no arithmetic, or is too rare for a rule.
WITHOUT_RULE = frozenset(
    [
        "AffineGrid", "CausalConvWithState", "DFT", "Det", "ImageDecoder", "LinearAttention", "MelWeightMatrix",
        "NegativeLogLikelihoodLoss", "NonMaxSuppression", "RandomUniformLike", "RegexFullMatch", "RoiAlign", "STFT",
        "SequenceMap", "SoftmaxCrossEntropyLoss", "StringConcat", "StringNormalizer", "StringSplit", "SwiGLU",
        "TfIdfVectorizer", "TopK", "Unique",
    ]
)  # fmt: skip
OWN = "ai.onnx"


def rule_of(domain: str, operator: str) -> Rule | None:
    """The rule of an operator; None where there is none."""
    return RULES.get(operator) if domain == OWN else None
