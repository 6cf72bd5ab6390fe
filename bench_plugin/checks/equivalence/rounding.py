"""The ways in which a tool may round weights by itself: each is right, and the row says which one fits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison

RECURRENT = frozenset({"LSTM", "GRU", "RNN"})
AS_WRITTEN = "as written"


def roundings(base: str, operators: Collection[str]) -> Iterator[tuple[str, str]]:
    """The graphs to compare with, by their names and in words, for a file that has these operators.

    ``base`` says which weights are rounded (``rounds`` of an adapter). The file as it was written comes first.
    """
    summed = bool(RECURRENT.intersection(operators))
    folded = "BatchNormalization" in operators
    yield base, AS_WRITTEN
    if summed:
        yield f"{base}+computed", "weights computed, biases as well"
        yield f"{base}+summed", "biases summed"
    if folded:
        yield f"{base}+folded", "BatchNormalization folded"
    if summed and folded:
        yield f"{base}+folded+summed", "BatchNormalization folded, biases summed"


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
