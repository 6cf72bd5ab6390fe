"""How well a classifier does its task, and whether a compiled model's loss of accuracy is statistically significant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench_plugin.compare.strength import Strength, rated
from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison, unverified
from bench_plugin.domain.outcome import Unverified

Array = np.ndarray[Any, Any]

CONFIDENCE = 0.95
MOST_DROP = 0.02  # share of 1 by which top-1 may fall, at the lower bound of the paired confidence interval


@dataclass(frozen=True)
class Drop:
    """Loss of top-1 accuracy against the reference on the same inputs, as shares of 1; negative where it is a gain.

    ``lower`` and ``upper`` are the bounds of its 95 % confidence interval (paired, normal approximation),
    ``agreement`` is the share of equal answers, and ``mcnemar_p`` is the p-value of McNemar's exact two-sided test.
    """

    drop: float
    lower: float
    upper: float
    agreement: float
    mcnemar_p: float


def judged(scores: Array, expected: Array, labels: Array, classes: int) -> Comparison:
    """The verdict on ``scores`` [N, classes] of a compiled model, by its task.

    ``expected`` [N, classes] are the scores of the framework's own model on the same inputs, ``labels`` [N] the right
    classes. It is a mismatch where top-1 fell, with 95 % confidence, by more than MOST_DROP.
    """
    if scores.shape != expected.shape:
        return Comparison(MISMATCH, f"shape {list(scores.shape)}, expected {list(expected.shape)}")
    if not len(labels):
        return unverified(Unverified.NO_REFERENCE, "the test set has no input")
    if not np.isfinite(scores).all():
        return Comparison(MISMATCH, f"{int((~np.isfinite(scores)).sum())} of {scores.size} scores are NaN or Inf")
    answers = expected.argmax(axis=1)
    drop = paired_drop(answers, scores.argmax(axis=1), labels)
    numbers = {
        **classification(scores, labels, classes),
        "reference_accuracy": float((answers == labels).mean()),
        "drop": {
            "top1": drop.drop, "lower": drop.lower, "upper": drop.upper, "agreement": drop.agreement,
            "mcnemar_p": drop.mcnemar_p,
        },
    }  # fmt: skip
    if drop.lower > MOST_DROP:
        reason = f"top-1 fell by {drop.drop:.1%} (at least {drop.lower:.1%}, McNemar p {drop.mcnemar_p:.1g})"
        return Comparison(MISMATCH, reason, numbers)
    return Comparison(AGREE, "", numbers)


def classification(scores: Array, labels: Array, classes: int) -> dict[str, Any]:
    """Metrics of ``scores`` [N, classes], floating point, against ``labels`` [N], integers from 0 to classes - 1.

    All metrics are shares of 1, except ``inputs`` and ``confusion``: ``confusion[i][j]`` counts the inputs of class i
    that were classified as j. Precision and sensitivity are per class, and 0 for a class that was never predicted or
    never occurs; ``g_mean`` is the geometric mean of the sensitivities.
    """
    answers = scores.argmax(axis=1)
    confusion = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(confusion, (labels, answers), 1)
    right = np.diag(confusion).astype(float)
    called, occurring = confusion.sum(axis=0), confusion.sum(axis=1)
    precision = np.divide(right, called, out=np.zeros(classes), where=called > 0)
    sensitivity = np.divide(right, occurring, out=np.zeros(classes), where=occurring > 0)
    best = np.argsort(-scores, axis=1, kind="stable")[:, : min(5, classes)]
    return {
        "inputs": len(labels),
        "accuracy": float(right.sum() / max(len(labels), 1)),
        "top5": float((best == labels[:, None]).any(axis=1).mean()),
        "precision": [float(value) for value in precision],
        "sensitivity": [float(value) for value in sensitivity],
        "mean_precision": float(precision.mean()),
        "mean_sensitivity": float(sensitivity.mean()),
        "g_mean": float(np.exp(np.log(np.maximum(sensitivity, 1e-300)).mean())) if sensitivity.all() else 0.0,
        "confusion": confusion.tolist(),
    }


def strength_of_answers(reference: Array, answers: Array, labels: Array) -> Strength:
    """Whether the rule on the drop of top-1 would notice a broken classifier.

    ``reference``, ``answers`` and ``labels`` are integers [N] as for :func:`paired_drop`. The mutants are one answer to
    every input and each input with its neighbour's answer. A smaller mistake that costs no accuracy is none by this
    rule.
    """
    faults = {
        "mean output": np.full_like(answers, np.bincount(answers).argmax()),
        "rows permuted": np.roll(answers, 1),
    }
    rows = {}
    for name, given in faults.items():
        lower = paired_drop(reference, given, labels).lower
        rows[name] = {"killed": lower > MOST_DROP, "ratio": max(lower / MOST_DROP, 0.0)}
    return rated(rows, exact=False)


def paired_drop(reference: Array, answers: Array, labels: Array) -> Drop:
    """The loss of accuracy of ``answers`` [N] against ``reference`` [N]: predicted classes (integers).

    ``labels`` [N] are the right classes of the same N inputs, N >= 1.
    """
    before, after = reference == labels, answers == labels
    lost, won = int((before & ~after).sum()), int((~before & after).sum())
    count = len(labels)
    drop = (lost - won) / count
    spread = math.sqrt(max((lost + won) / count - drop**2, 0.0) / count)
    from scipy import stats  # this import takes a second, so only the quality check pays for it

    reach = float(stats.norm.ppf(0.5 + CONFIDENCE / 2)) * spread
    p = float(stats.binomtest(lost, lost + won, 0.5).pvalue) if lost + won else 1.0
    return Drop(drop, drop - reach, drop + reach, float((reference == answers).mean()), p)
