"""Convolutions, fully connected layers and products of matrices.

With constant weights they are what published totals count: ``O = 2 * output elements * weights per output``. A product
of two tensors that both depend on the inputs, such as that of queries and keys, has no weights and counts apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from bench_plugin.characterise.rules.counts import ADD, MULTIPLY, Counts, NotCounted, Rule, Seen


def _convolution(weight: int, bias: int) -> Rule:
    """The weight is [Cout, Cin / groups, kernel...]."""

    def rule(seen: Seen) -> Counts:
        shape, made = seen.shape(weight), seen.made()
        others = {ADD: made} if seen.given(bias) else {}
        return Counts.multiply_adds(made * math.prod(shape[1:]), math.prod(shape), others)

    return rule


def _transposed(seen: Seen) -> Counts:
    """The weight is [Cin, Cout / groups, kernel...]; each element of the input meets Cout / groups * kernel weights."""
    shape = seen.shape(1)
    others = {ADD: seen.made()} if seen.given(2) else {}
    return Counts.multiply_adds(seen.size(0) * math.prod(shape[1:]), math.prod(shape), others)


def _product(left: int, right: int) -> Rule:
    """[..., m, k] by [..., k, n], as numpy multiplies them."""

    def rule(seen: Seen) -> Counts:
        inner = seen.shape(left)[-1:] or (1,)
        return _matrices(seen, left, right, seen.made() * inner[0])

    return rule


def _gemm(seen: Seen) -> Counts:
    inner = seen.shape(0)[0 if seen.whole("transA", 0) else 1]
    others = {ADD: seen.made()} if seen.given(2) else {}
    return _matrices(seen, 0, 1, seen.made() * inner, others)


def _matrices(seen: Seen, left: int, right: int, count: int, others: Mapping[str, int] | None = None) -> Counts:
    """``count`` multiply-adds, of a fully connected layer where one side is constant."""
    others = dict(others or {})
    for index in (right, left):
        if seen.input(index).constant:
            return Counts.multiply_adds(count, seen.size(index), others)
    others[ADD] = others.get(ADD, 0) + count
    return Counts(others={**others, MULTIPLY: count})


def _einsum(seen: Seen) -> Counts:
    """Every combination of all indices of the equation is a product of all operands, and one addition."""
    left = seen.text("equation", "").replace(" ", "").partition("->")[0].split(",")
    if len(left) != seen.arity or any("." in term for term in left):
        raise NotCounted("an equation with an ellipsis")
    sizes: dict[str, int] = {}
    for index, term in enumerate(left):
        sizes |= {name: max(size, sizes.get(name, 1)) for name, size in zip(term, seen.shape(index), strict=True)}
    count = math.prod(sizes.values())
    if seen.arity == 2:
        return _matrices(seen, 0, 1, count)
    return Counts(others={MULTIPLY: count * (seen.arity - 1), ADD: count})


RULES: Mapping[str, Rule] = {
    "Conv": _convolution(1, 2), "ConvInteger": _convolution(1, 99), "QLinearConv": _convolution(3, 8),
    "DeformConv": _convolution(1, 3),
    "ConvTranspose": _transposed, "Gemm": _gemm, "MatMul": _product(0, 1), "MatMulInteger": _product(0, 1),
    "QLinearMatMul": _product(0, 3), "Einsum": _einsum,
}  # fmt: skip
