"""The ways in which a tool may round weights by itself: each is right, and the row says which one fits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison

RECURRENT = frozenset({"LSTM", "GRU", "RNN"})
CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})
BROADCAST = frozenset({"Add", "Div", "Mul", "PRelu", "Pow", "Sub"})  # what reads vectors element by element
AS_WRITTEN = "as written"
# Which tensors a tool takes for weights, where a file has vectors that are multiplied or added.
CHOSEN = (
    ("", ""),
    ("+layers", "weights of layers alone"),
    ("+layers+sums", "weights of layers, and what is added to products of matrices"),
    ("+constants", "vectors of the arithmetic as well"),
)


def roundings(base: str, operators: Collection[str]) -> Iterator[tuple[str, str]]:
    """The graphs to compare with, by their names and in words, for a file that has these operators.

    ``base`` says which weights are rounded (``rounds`` of an adapter). The file as it was written comes first.
    """
    summed = bool(RECURRENT.intersection(operators))
    folded = "BatchNormalization" in operators
    scaled = "Mul" in operators and not CONVOLUTIONS.isdisjoint(operators)
    before = [("", "")]
    if summed:
        before += [("+computed", "weights computed, biases as well"), ("+summed", "biases summed")]
    if folded:
        before.append(("+folded", "BatchNormalization folded"))
    if scaled:
        before.append(("+scaled", "products behind convolutions folded"))
    if summed and folded:
        before.append(("+folded+summed", "BatchNormalization folded, biases summed"))
    for chosen, said in CHOSEN if BROADCAST.intersection(operators) else CHOSEN[:1]:
        for steps, words in before:
            yield f"{base}{steps}{chosen}", ", ".join(one for one in (words, said) if one) or AS_WRITTEN


def fitting(candidates: Iterator[tuple[str, str]], compare: Callable[[str], Comparison]) -> tuple[Comparison, str]:
    """The first comparison that agrees and what it is called; where none does, the nearest mismatch.

    A comparison that proves nothing ends the search: what hides there would hide in the others too.
    """
    nearest: tuple[Comparison, str] | None = None
    for graph, words in candidates:
        found = compare(graph)
        if found.status == AGREE or (found.status != MISMATCH and nearest is None):
            return found, words
        if found.status == MISMATCH and (nearest is None or _needed(found) < _needed(nearest[0])):
            nearest = found, words
    assert nearest is not None  # there is always the file as it was written
    return nearest


def _needed(comparison: Comparison) -> float:
    """By how many tolerances the result differs; infinite where that has no measure, as for a wrong shape."""
    return float(comparison.numbers.get("needed") or float("inf"))
