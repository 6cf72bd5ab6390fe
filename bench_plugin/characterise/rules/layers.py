"""Pooling, normalisation, recurrent layers and attention."""

from __future__ import annotations

import math
from collections.abc import Mapping

from bench_plugin.characterise.rules.counts import (
    ADD,
    COMPARE,
    DIVIDE,
    EXPONENTIAL,
    MULTIPLY,
    ROOT,
    Counts,
    NotCounted,
    Rule,
    Seen,
)
from bench_plugin.characterise.rules.elementwise import times

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
# Beside the products of matrices, for each unit and step: gates' activations, the state, the output.
STATE: Mapping[str, Mapping[str, int]] = {
    "LSTM": {EXPONENTIAL: 5, DIVIDE: 5, ADD: 8, MULTIPLY: 3},
    "GRU": {EXPONENTIAL: 3, DIVIDE: 3, ADD: 6, MULTIPLY: 3},
    "RNN": {EXPONENTIAL: 1, DIVIDE: 1, ADD: 2},
}
# For each element of the input: mean, difference, square, sum, quotient, scale and shift; roots are too few to count.
NORMALISED: Mapping[str, int] = {ADD: 4, MULTIPLY: 2, DIVIDE: 1}
RMS: Mapping[str, int] = {ADD: 1, MULTIPLY: 2, DIVIDE: 1}


def _pool(kind: str, last: Mapping[str, int]) -> Rule:
    def rule(seen: Seen) -> Counts:
        window = math.prod(seen.listed("kernel_shape"))
        return _with(seen.made(), {kind: window}, last)

    return rule


def _global_pool(kind: str, last: Mapping[str, int]) -> Rule:
    def rule(seen: Seen) -> Counts:
        found = dict(times(seen.size(), {kind: 1}).others)
        for name, count in last.items():
            found[name] = found.get(name, 0) + count * seen.made()
        return Counts(others=found)

    return rule


def _with(count: int, cost: Mapping[str, int], last: Mapping[str, int]) -> Counts:
    joined = {kind: cost.get(kind, 0) + last.get(kind, 0) for kind in (*cost, *last)}
    return times(count, joined)


def _per_input(cost: Mapping[str, int]) -> Rule:
    return lambda seen: times(seen.size(), cost)


def _lrn(seen: Seen) -> Counts:
    return times(seen.size(), {MULTIPLY: seen.whole("size", 1), ADD: seen.whole("size", 1), DIVIDE: 1, EXPONENTIAL: 1})


def _recurrent(seen: Seen) -> Counts:
    """W is [directions, gates * hidden, input], R [directions, gates * hidden, hidden]; X has steps and batch in front.

    Each step and sample meets each weight once. Not a convolution and no fully connected layer, so it counts apart.
    """
    x, w, r = seen.shape(0), seen.shape(1), seen.shape(2)
    if len(x) != 3:
        raise NotCounted(f"input 0 has {len(x)} dimensions, not 3")
    steps, hidden = x[0] * x[1], r[2]
    count = steps * (math.prod(w) + math.prod(r))
    found = dict(times(steps * w[0] * hidden, STATE[seen.node.operator]).others)
    if seen.given(3):
        found[ADD] = found.get(ADD, 0) + steps * math.prod(seen.shape(3))
    found[ADD] = found.get(ADD, 0) + count
    found[MULTIPLY] = found.get(MULTIPLY, 0) + count
    return Counts(others=found)


def _attention(seen: Seen) -> Counts:
    """softmax(Q K^T * scale) V; of three dimensions the last one holds the heads."""
    q, k, v = seen.shape(0), seen.shape(1), seen.shape(2)
    if len(q) == 3:
        heads = seen.whole("q_num_heads", 0)
        if not heads:
            raise NotCounted("attribute q_num_heads is missing")
        batch, queries, width = q[0], q[1], q[2] // heads
        keys, values = k[1], v[2] // (seen.whole("kv_num_heads", 0) or heads)
    else:
        batch, heads, queries, width = q
        keys, values = k[2], v[3]
    scores = batch * heads * queries * keys
    products = scores * (width + values)
    softmax = {COMPARE: scores, EXPONENTIAL: scores, DIVIDE: scores}
    return Counts(others={MULTIPLY: products + scores, ADD: products + 2 * scores, **softmax})


RULES: Mapping[str, Rule] = {
    "MaxPool": _pool(COMPARE, {}), "AveragePool": _pool(ADD, {DIVIDE: 1}),
    "LpPool": _pool(MULTIPLY, {ADD: 1, ROOT: 1}), "GlobalMaxPool": _global_pool(COMPARE, {}),
    "GlobalAveragePool": _global_pool(ADD, {DIVIDE: 1}), "GlobalLpPool": _global_pool(MULTIPLY, {ADD: 1, ROOT: 1}),
    "InstanceNormalization": _per_input(NORMALISED), "LayerNormalization": _per_input(NORMALISED),
    "GroupNormalization": _per_input(NORMALISED),
    "MeanVarianceNormalization": _per_input({ADD: 4, MULTIPLY: 1, DIVIDE: 1}),
    "RMSNormalization": _per_input(RMS), "LpNormalization": _per_input({MULTIPLY: 1, ADD: 1, DIVIDE: 1}), "LRN": _lrn,
    "LSTM": _recurrent, "GRU": _recurrent, "RNN": _recurrent, "Attention": _attention,
}  # fmt: skip
